//! What holds of every sentence at every instant, whatever happens. Told what the timeline is told, it keeps its own accounts,
//! counts for itself, and says where a sentence, a figure or a line of the story says something else.

mod controller;
mod counted;
mod figures;
mod next;
mod sentences;
mod story;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use timeline::budget::Next;
use timeline::change::Subject;
use timeline::model::ScaleCause;
use timeline::story::{Entry, Happening};
use timeline::view::{self, Now};
use timeline::{Change, Fact, Millis, Model, Timeline, Uid, rollout};

use controller::limits;
use counted::count;

/// Streams of different kinds overtake each other by so much: what depends on two of them may be told better for as long, and
/// the controllers may still do what was said so long ago.
const SETTLING_MILLIS: Millis = 2_000;
/// No more violations of one run are kept.
const MOST_WRONG: usize = 12;

/// The accounts of one cluster.
#[derive(Default)]
pub struct Invariants {
    of: BTreeMap<Uid, Account>,
    pods: BTreeSet<String>,
    /// When ReplicaSets changed hands last.
    handed_over: BTreeMap<Uid, Millis>,
    /// What was found wrong.
    pub wrong: Vec<String>,
    /// Sentences, lines and steps that were looked at.
    pub looked_at: [u64; 3],
    instants: u64,
}

/// What is known of one Deployment.
#[derive(Default)]
struct Account {
    revisions: BTreeSet<u64>,
    /// Ceilings that its spec had, in order.
    ceilings: Vec<u32>,
    generation: u64,
    /// Lines by entry: when told, last words, last data.
    told: BTreeMap<u64, Told>,
    /// What was said to come next, and until when that was said.
    said: VecDeque<(Millis, Next)>,
    /// The revision that had everything available at some time.
    had_all: Option<u64>,
    /// Steps that nothing said to come, while the change that they follow from may still be on its way.
    unsaid: Vec<(Millis, String)>,
    /// ReplicaSets came from another Deployment, or went to one or to none.
    has_shared_sets: bool,
}

struct Told {
    first_millis: Millis,
    text: String,
    entry: Entry,
    /// What it told before, and until when: of the last moments.
    earlier: Vec<(Millis, Happening)>,
}

impl Invariants {
    /// A fact arrived and was applied.
    pub fn applied(&mut self, timeline: &Timeline, fact: Option<&Fact>, changes: &[Change], now: Millis) {
        match fact {
            Some(Fact::Deployment(fact, _)) => {
                let account = self.of.entry(fact.meta.uid).or_default();
                if account.generation != fact.now.generation {
                    account.generation = fact.now.generation;
                    account.unsaid.clear();
                }
                account.revisions.extend(fact.now.revision);
                let ceiling = limits(&fact.now.spec).0;
                if account.ceilings.last() != Some(&ceiling) {
                    account.ceilings.push(ceiling);
                }
            }
            Some(Fact::ReplicaSet(fact, _)) => {
                if let Some(owner) = fact.meta.controller {
                    self.of.entry(owner).or_default().revisions.extend(fact.revision);
                }
            }
            Some(Fact::Pod(fact, _)) => drop(self.pods.insert(fact.meta.name.clone())),
            _ => {}
        }
        let model = timeline.model();
        for change in changes {
            if let Change::ReplicaSetOwner(set, ..) = change {
                self.handed_over.insert(*set, now);
            }
            if let Change::Scale(set, scale) = change {
                self.step(model, *set, scale, now);
            }
        }
        let touched: BTreeSet<Uid> = changes.iter().flat_map(|change| self.touched(model, change)).collect();
        self.instants += 1;
        for uid in touched {
            self.look(timeline, uid, now);
        }
    }

    /// Time passed, or history was let go of: every Deployment is looked at.
    pub fn passed(&mut self, timeline: &Timeline, now: Millis) {
        for uid in timeline.model().deployments.keys() {
            self.look(timeline, *uid, now);
        }
    }

    fn touched(&self, model: &Model, change: &Change) -> Vec<Uid> {
        match change.subject() {
            Subject::Nothing => Vec::new(),
            Subject::Deployment(uid) => vec![uid],
            _ => model.deployments_of(change),
        }
    }

    fn complain(&mut self, now: Millis, what: String) {
        if self.wrong.len() < MOST_WRONG {
            self.wrong.push(format!("at {now}: {what}"));
        }
    }

    /// What a controller did is among what was said to come.
    fn step(&mut self, model: &Model, set: Uid, scale: &timeline::model::Scale, now: Millis) {
        let Some(deployment) = model.deployments.get(&scale.deployment) else { return };
        let is_first = model.replica_sets.get(&set).is_none_or(|set| set.scales.len() == 1 && scale.from == 0);
        let mut sets = model.sets_of(scale.deployment);
        let is_new_hand = |set: Uid| self.handed_over.get(&set).is_some_and(|at| now - at <= SETTLING_MILLIS);
        if scale.cause != ScaleCause::Rollout
            || is_first
            || deployment.is_over()
            || sets.any(|set| is_new_hand(set.uid))
        {
            return; // a ReplicaSet that is made or taken over begins something that nobody knew of
        }
        self.looked_at[2] += 1;
        let is_new = rollout::current_set(model, deployment).is_some_and(|current| current.uid == set);
        let (from, to) = (scale.from, scale.to);
        let account = self.of.entry(scale.deployment).or_default();
        let is_said = account.said.iter().any(|(until, next)| {
            now - until <= SETTLING_MILLIS
                && match next {
                    Next::AddNew(pods) => is_new && to > from && to - from <= *pods,
                    Next::RemoveNew(pods) => to < from && from - to <= *pods,
                    Next::RemoveOld { unhealthy, healthy } => to < from && from - to <= unhealthy + healthy,
                    Next::CreateSet => to > from,
                    Next::Spread => true,
                    _ => false,
                }
        });
        if !is_said {
            let said: Vec<_> = account.said.iter().map(|(until, next)| (now - until, *next)).collect();
            let what = format!("{}: step {from} → {to} (new: {is_new}), said before: {said:?}", deployment.name);
            account.unsaid.push((now, what));
        }
    }

    fn look(&mut self, timeline: &Timeline, uid: Uid, now: Millis) {
        let model = timeline.model();
        let clock = Now { millis: now, skew_millis: timeline.skew_millis() };
        let (Some(deployment), Some(view), Some(looked)) =
            (model.deployments.get(&uid), view::view(model, uid, clock), view::Assessment::at(model, uid, clock))
        else {
            return;
        };
        let mut found = Vec::new();
        let account = self.of.entry(uid).or_default();
        let is_late = |(at, _): &mut (Millis, String)| now - *at > SETTLING_MILLIS;
        let unsaid: Vec<_> = account.unsaid.extract_if(.., is_late).collect();
        unsaid.into_iter().for_each(|(at, what)| self.complain(at, what));
        // Where no ReplicaSet is seen, figures are those of the Deployment's status.
        if looked.sees_sets {
            let counted = count(model, deployment);
            self.figures(model, deployment, &view, &counted, clock, &mut found);
            self.sentences(deployment, &view, &counted, &mut found);
        }
        self.next(&looked, &view, now, &mut found);
        self.lines(model, uid, now, &mut found);
        for what in found {
            self.complain(now, format!("{}: {what}", deployment.name));
        }
    }
}
