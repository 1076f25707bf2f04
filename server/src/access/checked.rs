//! Answers of somebody who may fall silent: each counts for a while, and is asked for again before it no longer does.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// How long answers count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// An answer is asked for again after this long.
    pub ask_again: Duration,
    /// It counts for this long where nothing newer is said.
    pub good_for: Duration,
    /// Who did not answer is asked nothing for this long.
    pub ask_the_silent: Duration,
}

/// What one server said, by the questions that it was asked.
#[derive(Debug, Clone)]
pub(crate) struct Checked<K, V> {
    terms: Terms,
    /// With the time of the question: what is answered was so at some time since then.
    answers: BTreeMap<K, (Instant, V)>,
    /// When a question was asked that it did not answer; `None` once it answers.
    silent_since: Option<Instant>,
}

impl<K: Ord, V> Checked<K, V> {
    pub(crate) const fn new(terms: Terms) -> Self {
        Self { terms, answers: BTreeMap::new(), silent_since: None }
    }

    /// The answer to a question, while it counts.
    pub(crate) fn get(&self, question: &K) -> Option<&V> {
        self.answers.get(question).filter(|(at, _)| at.elapsed() < self.terms.good_for).map(|(_, answer)| answer)
    }

    /// All questions whose answers count.
    pub(crate) fn good(&self) -> impl Iterator<Item = (&K, &V)> {
        let good = self.answers.iter().filter(|(_, (at, _))| at.elapsed() < self.terms.good_for);
        good.map(|(question, (_, answer))| (question, answer))
    }

    /// A question is to be asked now.
    pub(crate) fn is_due(&self, question: &K) -> bool {
        !self.is_resting() && self.answers.get(question).is_none_or(|(at, _)| at.elapsed() >= self.terms.ask_again)
    }

    /// Nothing is to be asked now.
    pub(crate) fn is_resting(&self) -> bool {
        self.silent_since.is_some_and(|since| since.elapsed() < self.terms.ask_the_silent)
    }

    /// The last question had no answer.
    pub(crate) const fn is_silent(&self) -> bool {
        self.silent_since.is_some()
    }

    /// When a question that was answered was asked last.
    pub(crate) fn answered_at(&self, question: &K) -> Option<Instant> {
        self.answers.get(question).map(|(at, _)| *at)
    }

    /// When anything was asked last.
    pub(crate) fn asked_at(&self) -> Option<Instant> {
        self.answers.values().map(|(at, _)| *at).max().max(self.silent_since)
    }

    /// Notes an answer to what was asked at that time.
    pub(crate) fn answer(&mut self, question: K, asked_at: Instant, answer: V) {
        self.answers.insert(question, (asked_at, answer));
        self.silent_since = None;
    }

    /// Notes whether everything that was asked at that time was answered.
    pub(crate) const fn set_silent(&mut self, asked_at: Instant, is_silent: bool) {
        self.silent_since = if is_silent { Some(asked_at) } else { None };
    }

    /// Forgets the answers to all other questions.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&K) -> bool) {
        self.answers.retain(|question, _| is_kept(question));
    }

    /// Forgets the answers that do not count any more.
    pub(crate) fn retain_good(&mut self) {
        let good_for = self.terms.good_for;
        self.answers.retain(|_, (at, _)| at.elapsed() < good_for);
    }
}
