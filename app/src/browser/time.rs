//! The browser's clocks, and times of day in zones.

use leptos::prelude::*;
use timeline::Millis;
use wasm_bindgen::prelude::*;

/// Returns the milliseconds since the page was opened; never decreases.
pub fn page_millis() -> f64 {
    window().performance().map_or(0.0, |performance| performance.now())
}

/// Returns the time of the browser's clock.
pub fn now_millis() -> Millis {
    js_sys::Date::now() as Millis
}

/// Returns the offset of the viewer's zone behind UTC at a time.
pub fn behind_utc_millis(at_millis: Millis) -> Millis {
    let date = js_sys::Date::new(&JsValue::from_f64(at_millis as f64));
    (date.get_timezone_offset() * 60_000.0) as Millis
}

/// Returns the time of day in a zone (the viewer's own for an empty name) and the name of the zone at that time; UTC if the browser does
/// not know the zone.
pub fn time_in(zone: &str, at_millis: Millis) -> (String, String) {
    let told = || {
        let text = told_in(zone, at_millis, "toLocaleTimeString", "en-GB", Some("long"))?;
        let (clock, name) = text.split_once(' ')?;
        Some((clock.to_owned(), offset(name).unwrap_or_else(|| name.to_owned())))
    };
    told().unwrap_or_else(|| (timeline::words::clock(at_millis), "UTC".to_owned()))
}

/// Returns the date in a zone, "2026-11-23"; in UTC if the browser does not know the zone.
pub fn date_in(zone: &str, at_millis: Millis) -> String {
    // Swedish dates have the format of ISO 8601.
    let told = told_in(zone, at_millis, "toLocaleDateString", "sv-SE", None);
    told.unwrap_or_else(|| timeline::words::date(at_millis))
}

/// Calls a method of `Date` with a zone, a locale and a style; `None` if the browser does not know the zone.
fn told_in(zone: &str, at_millis: Millis, method: &str, locale: &str, style: Option<&str>) -> Option<String> {
    let options = js_sys::Object::new();
    for (name, value) in [("timeZone", Some(zone).filter(|zone| !zone.is_empty())), ("timeStyle", style)] {
        if let Some(value) = value {
            js_sys::Reflect::set(&options, &name.into(), &value.into()).ok()?;
        }
    }
    let date = js_sys::Date::new(&JsValue::from_f64(at_millis as f64));
    // The call throws if the zone does not exist.
    let tell: js_sys::Function = js_sys::Reflect::get(&date, &method.into()).ok()?.dyn_into().ok()?;
    tell.call2(&date, &locale.into(), &options).ok()?.as_string()
}

/// Formats an offset without a name as pages do: browsers return "GMT+5:30", pages show "UTC+05:30".
fn offset(name: &str) -> Option<String> {
    let offset = name.strip_prefix("GMT")?;
    let sign = offset.chars().next().filter(|sign| matches!(sign, '+' | '-'))?;
    let (hours, minutes) = offset.get(1..)?.split_once(':').unwrap_or((offset.get(1..)?, "00"));
    Some(format!("UTC{sign}{:02}:{minutes}", hours.parse::<u8>().ok()?))
}

/// Formats a time as ISO 8601: "2026-11-21T14:02:05.250Z".
pub fn iso(at_millis: Millis) -> String {
    js_sys::Date::new(&JsValue::from_f64(at_millis as f64)).to_iso_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_without_a_name_has_one_form() {
        let told = |name| offset(name).unwrap_or_else(|| format!("{name}: as it is"));
        assert_eq!(["GMT+14", "GMT-3:30", "GMT+5:30"].map(told), ["UTC+14:00", "UTC-03:30", "UTC+05:30"]);
        assert_eq!(["GMT", "CEST", "UTC"].map(told), ["GMT: as it is", "CEST: as it is", "UTC: as it is"]);
    }
}
