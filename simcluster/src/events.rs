//! Events in Kubernetes' words, and its three ways to reduce them (client-go `tools/record/events_cache.go`): a repeated Event
//! increments its count, more than ten similar ones within ten minutes are combined, and an object with too many Events gets no
//! more.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::object::{Key, Kind, Object, Resource};
use crate::time;

/// Number of different messages with one reason about one object after which they are combined.
const ALIKE: usize = 10;
/// Time for which Events count as recent.
const ALIKE_MILLIS: i64 = 600_000;
/// Largest number of Events from one component about one object in a burst, and the time until one more is allowed.
const BURST: f64 = 25.0;
const REFILL_MILLIS: f64 = 300_000.0;
/// Largest number of entries in client-go's caches.
const CACHED: usize = 4_096;
/// Events expire after an hour.
pub const LIFE_MILLIS: i64 = 3_600_000;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NewEvent {
    pub resource: Resource,
    /// Namespace and name of the object.
    pub key: Key,
    /// UID of the object.
    pub uid: String,
    /// The resourceVersion of that object.
    pub resource_version: Option<String>,
    /// A part of it: `spec.containers{web}`.
    pub field_path: Option<String>,
    /// Component that reports the Event: "deployment-controller".
    pub component: &'static str,
    /// "Normal" or "Warning".
    pub r#type: &'static str,
    pub reason: &'static str,
    pub message: String,
}

impl NewEvent {
    pub fn about<K: Kind>(meta: &ObjectMeta, component: &'static str, reason: &'static str, message: String) -> Self {
        Self {
            resource: K::RESOURCE,
            key: Key::of(meta),
            uid: meta.uid.clone().unwrap_or_default(),
            resource_version: meta.resource_version.clone(),
            field_path: None,
            component,
            r#type: "Normal",
            reason,
            message,
        }
    }

    #[must_use]
    pub fn warning(mut self) -> Self {
        self.r#type = "Warning";
        self
    }

    #[must_use]
    pub fn of_container(mut self, list: &str, name: &str) -> Self {
        self.field_path = Some(format!("spec.{list}{{{name}}}"));
        self
    }

    /// Returns whether it is one of the newer API (client-go `tools/events`). Its recorder leaves none out, and counts those about an
    /// unchanged object as one series, whatever their messages.
    fn is_of_scheduler(&self) -> bool {
        self.component == "default-scheduler"
    }

    fn reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: Some(self.resource.api_version()),
            kind: Some(self.resource.kind().to_owned()),
            namespace: Some(self.key.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            name: Some(self.key.name.clone()),
            uid: Some(self.uid.clone()),
            resource_version: None,
            field_path: self.field_path.clone(),
        }
    }
}

#[derive(Debug, Default)]
struct Alike {
    messages: BTreeSet<String>,
    last_millis: i64,
}

#[derive(Debug)]
struct Tokens {
    left: f64,
    since_millis: i64,
}

impl Tokens {
    fn refilled(&self, now_millis: i64) -> f64 {
        let refilled = (now_millis - self.since_millis) as f64 / REFILL_MILLIS;
        (self.left + refilled).min(BURST)
    }
}

/// State of the components' Event recorders.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Keyed by component, UID, type and reason (`EventAggregatorByReasonFunc`).
    alike: BTreeMap<(&'static str, String, &'static str, &'static str), Alike>,
    /// Keyed by component, UID and type (`getSpamKey`).
    tokens: BTreeMap<(&'static str, String, &'static str), Tokens>,
    /// Stored Event with this content, whose count a repetition increments.
    known: BTreeMap<NewEvent, Key>,
    ends: VecDeque<(i64, Key)>,
    count: u64,
}

/// Result of recording an Event.
pub enum Outcome {
    New(Box<Object>),
    /// An existing Event is repeated, with this message.
    Again(Key, String),
    /// The Event is dropped: there were too many about this object.
    Silence,
}

impl Recorder {
    /// Decides whether an Event is stored, counted or dropped.
    pub fn record(&mut self, mut new: NewEvent, now_millis: i64) -> Outcome {
        // Nodes and Namespaces have no namespace; their Events are in "default".
        let namespace = if new.key.namespace.is_empty() { "default".to_owned() } else { new.key.namespace.clone() };
        self.forget(now_millis);
        let mut identity = new.clone();
        if new.is_of_scheduler() {
            // `getKey` of the newer API has the object's resourceVersion and no message.
            identity.message = String::new();
        } else {
            identity.resource_version = None;
            if self.remember_message(&new, now_millis) {
                new.message = format!("(combined from similar events): {}", new.message);
                // A combined Event covers all containers.
                (identity.message, identity.field_path) = (String::new(), None);
            }
            if !self.take_token(&new, now_millis) {
                return Outcome::Silence;
            }
        }
        if let Some(key) = self.known.get(&identity) {
            return Outcome::Again(key.clone(), new.message);
        }
        self.count += 1;
        let name = format!("{}.{:x}", new.key.name, now_millis.wrapping_mul(1_000_000).wrapping_add(self.count as i64));
        let key = Key { namespace, name };
        self.known.insert(identity, key.clone());
        self.ends.push_back((now_millis + LIFE_MILLIS, key.clone()));
        Outcome::New(Box::new(event(&new, &key, now_millis).into_object()))
    }

    /// Remembers the message of an Event. Returns whether the Event is combined with similar ones.
    fn remember_message(&mut self, new: &NewEvent, now_millis: i64) -> bool {
        let group = (new.component, new.uid.clone(), new.r#type, new.reason);
        let alike = self.alike.entry(group).or_default();
        if now_millis - alike.last_millis > ALIKE_MILLIS {
            alike.messages.clear();
        }
        alike.last_millis = now_millis;
        alike.messages.insert(new.message.clone());
        let is_combined = alike.messages.len() >= ALIKE;
        if is_combined {
            alike.messages.pop_first();
        }
        is_combined
    }

    /// Takes the token of an Event. Returns whether one was left.
    fn take_token(&mut self, new: &NewEvent, now_millis: i64) -> bool {
        let tokens = self
            .tokens
            .entry((new.component, new.uid.clone(), new.r#type))
            .or_insert(Tokens { left: BURST, since_millis: now_millis });
        tokens.left = tokens.refilled(now_millis);
        tokens.since_millis = now_millis;
        let is_left = tokens.left >= 1.0;
        if is_left {
            tokens.left -= 1.0;
        }
        is_left
    }

    /// Drops entries without effect once there are as many as the components' caches hold.
    fn forget(&mut self, now_millis: i64) {
        if self.alike.len() > CACHED {
            self.alike.retain(|_, alike| now_millis - alike.last_millis <= ALIKE_MILLIS);
        }
        if self.tokens.len() > CACHED {
            self.tokens.retain(|_, tokens| tokens.refilled(now_millis) < BURST);
        }
    }

    /// Returns an Event that may have expired.
    pub fn ended(&mut self, now_millis: i64) -> Option<Key> {
        let (at, _) = self.ends.front()?;
        if *at > now_millis {
            return None;
        }
        self.ends.pop_front().map(|(_, key)| key)
    }

    /// Forgets a deleted Event: a repetition creates a new one.
    pub fn remove(&mut self, key: &Key) {
        self.known.retain(|_, known| known != key);
    }

    /// Keeps an Event for another hour after a repetition.
    pub fn keep(&mut self, key: Key, last_millis: i64) {
        self.ends.push_back((last_millis + LIFE_MILLIS, key));
    }
}

/// Increments the count of a repeated Event.
pub fn count_up(event: &mut Event, message: String, now_millis: i64) {
    if event.event_time.is_some() {
        let series = event.series.get_or_insert_default();
        // A series begins with the second time, and keeps its first message.
        series.count = Some(series.count.unwrap_or(1) + 1);
        series.last_observed_time = Some(time::micro(now_millis));
    } else {
        event.message = Some(message);
        event.count = Some(event.count.unwrap_or(1) + 1);
        event.last_timestamp = Some(time::second(now_millis));
    }
}

/// Returns the time of an Event's last occurrence.
pub fn last_millis(event: &Event) -> Option<i64> {
    let in_series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
    let last = in_series.map(|time| time.0.as_millisecond());
    last.or_else(|| event.last_timestamp.as_ref().map(time::millis))
}

fn event(new: &NewEvent, key: &Key, now_millis: i64) -> Event {
    let mut event = Event {
        metadata: ObjectMeta {
            name: Some(key.name.clone()),
            namespace: Some(key.namespace.clone()),
            ..ObjectMeta::default()
        },
        involved_object: new.reference(),
        reason: Some(new.reason.to_owned()),
        message: Some(new.message.clone()),
        type_: Some(new.r#type.to_owned()),
        reporting_component: Some(new.component.to_owned()),
        reporting_instance: Some(String::new()),
        source: Some(EventSource::default()),
        ..Event::default()
    };
    if new.is_of_scheduler() {
        // The scheduler uses the newer API, which has its own time field and no counts.
        event.event_time = Some(time::micro(now_millis));
        event.action = Some(if new.reason == "Scheduled" { "Binding" } else { "Scheduling" }.to_owned());
        event.reporting_instance = Some("default-scheduler-simcluster".to_owned());
    } else {
        event.source = Some(EventSource { component: Some(new.component.to_owned()), host: None });
        event.first_timestamp = Some(time::second(now_millis));
        event.last_timestamp = Some(time::second(now_millis));
        event.count = Some(1);
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(message: String) -> NewEvent {
        let meta = ObjectMeta { uid: Some("u".to_owned()), name: Some("web".to_owned()), ..ObjectMeta::default() };
        NewEvent::about::<k8s_openapi::api::apps::v1::ReplicaSet>(
            &meta,
            "replicaset-controller",
            "FailedCreate",
            message,
        )
    }

    #[test]
    fn alike_events_are_combined_after_ten_and_silenced_after_twenty_five() {
        let mut recorder = Recorder::default();
        let (mut new, mut again, mut silent) = (Vec::new(), 0, 0);
        for number in 0..40 {
            match recorder.record(about(format!("no {number}")), number * 1000) {
                Outcome::New(event) => {
                    new.push(Event::of(&event).and_then(|event| event.message.clone()).unwrap_or_default());
                }
                Outcome::Again(..) => again += 1,
                Outcome::Silence => silent += 1,
            }
        }
        // As recorded from a real quota: nine single Events, the tenth is the first combined one.
        assert_eq!(new.len(), 10);
        assert_eq!(new.last().map(String::as_str), Some("(combined from similar events): no 9"));
        assert_eq!((again, silent), (15, 15));
    }

    /// Outcomes of recording Events: "new", "again" or "silence".
    fn outcomes(events: impl Iterator<Item = NewEvent>) -> Vec<&'static str> {
        let mut recorder = Recorder::default();
        let recorded = events.map(|event| match recorder.record(event, 0) {
            Outcome::New(_) => "new",
            Outcome::Again(..) => "again",
            Outcome::Silence => "silence",
        });
        recorded.collect()
    }

    #[test]
    fn warnings_do_not_use_up_the_events_that_are_none() {
        let warnings = (0..26).map(|_| about("no".to_owned()).warning());
        let recorded = outcomes(warnings.chain([about("no".to_owned())]));
        assert_eq!(recorded[24..], ["again", "silence", "new"]);
    }

    #[test]
    fn alike_events_of_two_containers_are_combined_and_those_of_another_type_are_not() {
        let of = |number: i64| {
            let container = if number % 2 == 0 { "web" } else { "proxy" };
            about(format!("no {number}")).of_container("containers", container)
        };
        assert_eq!(outcomes((0..11).map(of))[8..], ["new", "new", "again"]);
        let types = (0..12).map(|number| if number < 6 { of(number) } else { of(number).warning() });
        assert_eq!(outcomes(types), ["new"; 12]);
    }

    #[test]
    fn events_of_the_scheduler_are_in_a_series_while_their_object_is_unchanged() {
        let of = |version: u32, message: &str| NewEvent {
            component: "default-scheduler",
            resource_version: Some(version.to_string()),
            ..about(message.to_owned())
        };
        // None is left out.
        assert_eq!(outcomes((0..27).map(|version| of(version, "no"))), ["new"; 27]);
        assert_eq!(outcomes([of(1, "no"), of(2, "no"), of(2, "no 2")].into_iter()), ["new", "new", "again"]);
        let key = Key::new("default", "web.1");
        let mut event = event(&of(1, "no"), &key, 0);
        assert_eq!((event.series.clone(), event.count, last_millis(&event)), (None, None, None));
        count_up(&mut event, "no 2".to_owned(), 1_500);
        count_up(&mut event, "no 3".to_owned(), 2_500);
        assert_eq!((event.series.clone().unwrap().count, event.count), (Some(3), None));
        assert_eq!(event.message.as_deref(), Some("no"));
        assert_eq!((last_millis(&event), event.last_timestamp), (Some(2_500), None));
    }

    #[test]
    fn an_event_that_is_kept_is_counted_on_until_it_is_removed() {
        let mut recorder = Recorder::default();
        let minute = |number: i64| number * 60_000;
        let is_new = |recorder: &mut Recorder, at| {
            matches!(recorder.record(about("no".to_owned()), minute(at)), Outcome::New(_))
        };
        assert!(is_new(&mut recorder, 0));
        assert!(!is_new(&mut recorder, 50));
        let key = recorder.ended(minute(61)).unwrap();
        recorder.keep(key, minute(50));
        assert!(!is_new(&mut recorder, 61));
        let key = recorder.ended(minute(111)).unwrap();
        recorder.remove(&key);
        assert!(is_new(&mut recorder, 111));
    }
}
