//! What happens in a simulation, drawn from its seed: what people do to the cluster, faults that overlap, viewers that come and go.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use fastrand::Rng;
use timeline::Millis;

use crate::common::network::NetworkFault;
use crate::live::support::{EXPIRED, Fault, Verb, WATCHED};

/// Deployments that people act on, and viewers look at.
pub const DEPLOYMENTS: [&str; 2] = ["web", "api"];
/// How long somebody hurries.
pub const HURRIED_MILLIS: Millis = 36_000;
/// Viewers that come and go.
pub const VIEWERS: usize = 3;

/// Difference of the cluster's clock and the hub's, at the same instant.
const CLOCK_MILLIS: Millis = 2;
/// For so long a network that is slow or frozen may keep a line: longest time of the one, and until the other is noticed.
const SLOW_MILLIS: Millis = 10_000;

const HTML: &str = "<!DOCTYPE html><html><body>Please sign in</body></html>";
const LISTS: &[Verb] = &[Verb::List, Verb::Next, Verb::Stream];
const WATCHES: &[Verb] = &[Verb::Watch];
const BOTH: &[Verb] = &[Verb::List, Verb::Next, Verb::Stream, Verb::Watch];
const ALL: &[Verb] = &[Verb::List, Verb::Next, Verb::Stream, Verb::Watch, Verb::Version];

/// All that happens, and when.
pub struct Schedule {
    /// Lists are streamed.
    pub streams_lists: bool,
    /// Objects of a page of a list.
    pub page_size: u32,
    pub faults: Vec<Trouble>,
    /// By time since the beginning.
    pub steps: Vec<(Millis, Step)>,
    /// When no fault has an effect any more.
    pub ends_millis: Millis,
}

#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Somebody does to that Deployment what follows from this seed.
    Act(usize, u64),
    /// That Deployment changes again and again while a viewer of it takes no frames: it falls behind by more than are kept for it.
    Hurry(usize),
    Begin(usize),
    End(usize),
    /// The history of that kind is compacted.
    Expire(usize),
    /// A line of that kind is sent again.
    SayAgain(usize, u64),
    /// All watches end.
    HangUp,
    /// All connections are reset.
    Reset,
    /// That viewer comes, or leaves.
    Look(usize),
    /// That viewer takes no frames, or takes them again.
    Stall(usize),
}

/// A fault for some time.
pub struct Trouble {
    pub what: What,
    /// The history of all kinds is compacted when it ends.
    pub expires: bool,
    /// Watches that are open end when it begins, and meet it.
    pub hangs_up: bool,
}

impl Trouble {
    const fn is_slow(&self) -> bool {
        matches!(self.what, What::Network(NetworkFault::Freeze | NetworkFault::Trickle(_)))
    }
}

pub enum What {
    Network(NetworkFault),
    Requests(&'static [Verb], &'static [&'static str], Fault),
}

fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.usize(..of.len())]
}

impl Schedule {
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let rng = &mut rng;
        let lasts = rng.i64(10_000..=50_000);
        let (streams_lists, page_size) = (rng.bool(), one(rng, &[5, 20, 500]));
        let mut schedule = Self { streams_lists, page_size, faults: Vec::new(), steps: Vec::new(), ends_millis: lasts };
        for _ in 0..rng.usize(1..=6) {
            schedule.trouble(rng, lasts);
        }
        let mut some = |rng: &mut Rng, most: usize, step: &dyn Fn(&mut Rng) -> Step| {
            for _ in 0..rng.usize(0..=most) {
                schedule.steps.push((rng.i64(0..lasts), step(rng)));
            }
        };
        some(rng, 8, &|rng| Step::Act(rng.usize(..DEPLOYMENTS.len()), rng.u64(..)));
        some(rng, 3, &|rng| Step::Expire(rng.usize(..WATCHED.len())));
        some(rng, 3, &|rng| Step::SayAgain(rng.usize(..WATCHED.len()), rng.u64(..)));
        some(rng, 2, &|_| Step::HangUp);
        some(rng, 2, &|_| Step::Reset);
        some(rng, 10, &|rng| Step::Look(rng.usize(..VIEWERS)));
        some(rng, 6, &|rng| Step::Stall(rng.usize(..VIEWERS)));
        if rng.u8(..8) == 0 {
            let at = rng.i64(0..lasts);
            schedule.steps.push((at, Step::Hurry(rng.usize(..DEPLOYMENTS.len()))));
            schedule.ends_millis = schedule.ends_millis.max(at + HURRIED_MILLIS);
        }
        schedule.steps.sort_by_key(|(at, _)| *at); // stable: what was drawn first comes first
        schedule
    }

    /// How much longer than usual bytes may take that wait for others that are delayed.
    pub fn delay_millis(&self) -> Millis {
        let delay = |trouble: &Trouble| match trouble.what {
            What::Network(NetworkFault::Delay(by)) => 2 * by.as_millis() as Millis,
            _ => 0,
        };
        self.faults.iter().map(delay).sum()
    }

    /// How much later than what it tells a line may arrive. Connections that carry none for longer than that are given up.
    pub fn late_millis(&self) -> Millis {
        let slow_faults = self.faults.iter().filter(|trouble| trouble.is_slow()).count() as Millis;
        CLOCK_MILLIS + self.delay_millis() + slow_faults * SLOW_MILLIS
    }

    /// Times since the beginning in which the network keeps lines back.
    pub fn slow_times(&self) -> Vec<RangeInclusive<Millis>> {
        let at = |is_it: &dyn Fn(&Step) -> bool| self.steps.iter().find(|(_, step)| is_it(step)).map(|(at, _)| *at);
        let time = |number: usize| {
            let begin = at(&|step| matches!(step, Step::Begin(other) if *other == number))?;
            let end = at(&|step| matches!(step, Step::End(other) if *other == number))?;
            Some(begin..=end + self.delay_millis())
        };
        (0..self.faults.len()).filter(|number| self.faults[*number].is_slow()).filter_map(time).collect()
    }

    fn trouble(&mut self, rng: &mut Rng, lasts: Millis) {
        let (what, most_seconds, tail_seconds) = if rng.u8(..3) == 0 { network(rng) } else { requests(rng) };
        let from = rng.i64(0..lasts);
        let to = (from + rng.i64(0..=most_seconds * 1_000)).min(lasts);
        let number = self.faults.len();
        self.faults.push(Trouble { what, expires: rng.u8(..4) == 0, hangs_up: rng.bool() });
        self.steps.extend([(from, Step::Begin(number)), (to, Step::End(number))]);
        self.ends_millis = self.ends_millis.max(to + tail_seconds * 1_000);
    }
}

/// A fault of the network, how long it lasts at most, and for how long it is felt when it is over.
fn network(rng: &mut Rng) -> (What, i64, i64) {
    let (fault, most, tail) = match rng.u8(..6) {
        0 => (NetworkFault::Refusal, 40, 0),
        1 => (NetworkFault::Freeze, 40, 0),
        2 => (NetworkFault::HalfOpen, 10, 30),
        3 => (NetworkFault::ResetInside, 10, 0),
        4 => (NetworkFault::Delay(Duration::from_millis(rng.u64(10..2_000))), 40, 5),
        _ => (NetworkFault::Trickle(Duration::from_millis(10)), 10, 5),
    };
    (What::Network(fault), most, tail)
}

/// A fault of the API server.
fn requests(rng: &mut Rng) -> (What, i64, i64) {
    let (fault, tail) = match rng.u8(..20) {
        0..=6 => (Fault::Status(one(rng, &[401, 403, 410, 429, 500, 503, 504])), 0),
        7 => (Fault::Busy(rng.u16(1..=3)), 0),
        8 | 9 => (Fault::EndAtOnce, 0),
        10 | 11 => (Fault::Say(EXPIRED.to_owned()), 0),
        12 => (Fault::Say(HTML.to_owned()), 0),
        13 => (Fault::Say(r#"{"type":"ADDED","object":{"metadata":{"na"#.to_owned()), 0),
        14 => (Fault::Compressed, 0),
        15 => (Fault::Hang, 30),
        16 => (Fault::Stall("{".to_owned()), 30),
        17 => (Fault::Trickle, 120),
        _ => (Fault::Mute, 0),
    };
    let verbs = match fault {
        Fault::Mute => WATCHES, // of a list it would be `Hang`
        _ => one(rng, &[LISTS, WATCHES, BOTH, BOTH, ALL]),
    };
    let kinds: &'static [&'static str] = match rng.usize(..WATCHED.len() * 2) {
        kind if kind < WATCHED.len() => std::slice::from_ref(&WATCHED[kind]),
        _ => &WATCHED,
    };
    (What::Requests(verbs, kinds, fault), 40, tail)
}

impl fmt::Display for Trouble {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Network(fault) => write!(to, "network: {fault:?}")?,
            What::Requests(verbs, kinds, fault) => write!(to, "{verbs:?} of {}: {fault:?}", kinds.join(", "))?,
        }
        let hangs_up = if self.hangs_up { "; watches end when it begins" } else { "" };
        let expires = if self.expires { "; history is compacted when it ends" } else { "" };
        write!(to, "{hangs_up}{expires}")
    }
}

/// The schedule in words, a line for each step.
impl fmt::Display for Schedule {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let streamed = if self.streams_lists { "streamed" } else { "not streamed" };
        writeln!(to, "lists are {streamed}, pages have {} objects", self.page_size)?;
        for (at, step) in &self.steps {
            write!(to, "{:6.2} s  ", *at as f64 / 1_000.0)?;
            match *step {
                Step::Act(of, seed) => writeln!(to, "somebody acts on {} (seed {seed})", DEPLOYMENTS[of])?,
                Step::Hurry(of) => writeln!(
                    to,
                    "{0} changes again and again for 36 s; a viewer of it takes no frames",
                    DEPLOYMENTS[of]
                )?,
                Step::Begin(number) => writeln!(to, "fault {number} begins: {}", self.faults[number])?,
                Step::End(number) => writeln!(to, "fault {number} ends")?,
                Step::Expire(kind) => writeln!(to, "history of {} is compacted", WATCHED[kind])?,
                Step::SayAgain(kind, _) => writeln!(to, "a line of {} is sent again", WATCHED[kind])?,
                Step::HangUp => writeln!(to, "all watches end")?,
                Step::Reset => writeln!(to, "all connections are reset")?,
                Step::Look(number) => writeln!(to, "viewer {number} comes or leaves")?,
                Step::Stall(number) => writeln!(to, "viewer {number} stops taking frames, or takes them again")?,
            }
        }
        write!(to, "{:6.2} s  no fault has an effect any more", self.ends_millis as f64 / 1_000.0)
    }
}
