//! Label selectors: parses the text form of kubectl, `app=web,tier!=db,env in (prod,test),!canary`, and converts those of
//! objects. kube matches them. The list's filter and the simulated cluster share this crate.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_core::{Expression, Selector, SelectorExt};

/// Requirements on labels, all of which must be met. An empty selector matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels(Selector);

/// A selector that cannot be parsed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{part:?} is no label selector; write app=web, tier!=db, env in (prod,test), canary or !canary, with commas between them"
)]
pub struct ParseSelectorError {
    /// The invalid requirement, as it was written.
    pub part: String,
}

impl std::str::FromStr for Labels {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = parts(text).into_iter().map(str::trim).filter(|part| !part.is_empty());
        let read = |part: &str| expression(part).ok_or_else(|| ParseSelectorError { part: part.to_owned() });
        parts.map(read).collect::<Result<Selector, _>>().map(Self)
    }
}

impl Labels {
    /// Converts the `selector` of an object. An invalid one, which the API server would refuse, matches nothing.
    pub fn of(selector: &LabelSelector) -> Self {
        let nothing = || Expression::In(String::new(), BTreeSet::new()).into();
        Self(selector.clone().try_into().unwrap_or_else(|_| nothing()))
    }

    /// Returns whether the labels match.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.matches(labels)
    }

    /// Returns whether everything matches.
    pub fn is_empty(&self) -> bool {
        self.0.selects_all()
    }
}

/// Splits at the commas outside of brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let is_between = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(is_between).collect()
}

fn expression(part: &str) -> Option<Expression> {
    if let Some((key, value)) = part.split_once("!=") {
        return Some(Expression::NotEqual(self::key(key)?, self::value(value)?));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Some(Expression::Equal(self::key(key)?, self::value(value)?));
    }
    if let Some((head, values)) = part.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
        let values = values.split(',').map(self::value).collect::<Option<BTreeSet<_>>>()?;
        return match head.split_whitespace().collect::<Vec<_>>().as_slice() {
            [key, "in"] => Some(Expression::In(self::key(key)?, values)),
            [key, "notin"] => Some(Expression::NotIn(self::key(key)?, values)),
            _ => None,
        };
    }
    match part.strip_prefix('!') {
        Some(key) => Some(Expression::DoesNotExist(self::key(key)?)),
        None => Some(Expression::Exists(self::key(part)?)),
    }
}

fn key(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text.chars().all(|c| is_plain(c) || c == '/')).then(|| text.to_owned())
}

/// Parses a value, which may be empty.
fn value(text: &str) -> Option<String> {
    let text = text.trim();
    text.chars().all(is_plain).then(|| text.to_owned())
}

const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;

    use super::*;

    #[test]
    fn a_selector_means_what_it_means_to_kubectl() {
        let labels = [("app", "web"), ("tier", "front"), ("example.com/team", "a"), ("empty", "")];
        let labels: BTreeMap<String, String> = labels.map(|(key, value)| (key.into(), value.into())).into();
        let cases = [
            ("", true),
            ("app=web", true),
            (" app == web , tier!=db", true),
            ("app=shop", false),
            ("app!=web", false),
            ("other!=x", true),
            ("app in (web, shop),tier notin (db)", true),
            ("app in (shop)", false),
            ("other notin (x)", true),
            ("example.com/team", true),
            ("!example.com/team", false),
            ("!other", true),
            ("empty=", true),
        ];
        for (selector, matches) in cases {
            assert_eq!(selector.parse::<Labels>().unwrap().matches(&labels), matches, "{selector}");
        }
    }

    #[test]
    fn a_selector_of_an_object_means_what_it_means_to_a_controller() {
        let labels: BTreeMap<String, String> = [("app".to_owned(), "web".to_owned())].into();
        let expression = |operator: &str, values: &[&str]| LabelSelectorRequirement {
            key: "app".to_owned(),
            operator: operator.to_owned(),
            values: (!values.is_empty()).then(|| values.iter().map(|value| (*value).to_owned()).collect()),
        };
        for (operator, values, matches) in [
            ("In", &["web", "shop"][..], true),
            ("In", &["shop"], false),
            ("NotIn", &["shop"], true),
            ("Exists", &[], true),
            ("DoesNotExist", &[], false),
            ("In", &[], false),
            ("Like", &["web"], false),
        ] {
            let match_expressions = Some(vec![expression(operator, values)]);
            let selector = LabelSelector { match_expressions, match_labels: Some(labels.clone()) };
            assert_eq!(Labels::of(&selector).matches(&labels), matches, "{operator} {values:?}");
        }
        assert!(Labels::of(&LabelSelector::default()).is_empty());
    }

    #[test]
    fn what_is_no_selector_is_said() {
        for wrong in ["app web", "=web", "app in web", "app in (web", "a=b=c", "app within (x)", "!", "app=<b>", "ä=b"]
        {
            assert!(wrong.parse::<Labels>().is_err(), "{wrong}");
        }
    }
}
