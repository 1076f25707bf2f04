//! Requests the sentences of a moment from the server, one request at a time. Pure: the browser's time is an argument.
//!
//! ```text
//!   nothing asked ──a moment is shown──► asked ──its answer──► answered ──another moment──► asked
//!         ▲                                │  no answer in time: the moment that is shown then is asked
//!         └── the link broke, or the server began another life ──┘
//! ```

use timeline::Millis;

/// Minimum interval between requests, and timeout of an answer.
const ASK_MILLIS: f64 = 120.0;
const ANSWER_MILLIS: f64 = 2_000.0;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Question {
    /// The requested moment, and the time of the request.
    last_request: Option<(Millis, f64)>,
    is_answered: bool,
}

impl Question {
    /// Starts with a moment that was already answered.
    pub const fn answered(at_millis: Millis) -> Self {
        Self { last_request: Some((at_millis, f64::NEG_INFINITY)), is_answered: true }
    }

    /// Clears the last request: its answer will not come, or is not needed any more.
    pub const fn forget(&mut self) {
        self.last_request = None;
    }

    /// Takes the answer for a moment. Ignores a late answer to an earlier request.
    pub fn answer(&mut self, at_millis: Millis) {
        self.is_answered |= self.last_request.is_some_and(|(asked, _)| asked == at_millis);
    }

    /// Returns the moment to request now, while `shown` is shown.
    pub fn next_request(&mut self, shown: Millis, page_millis: f64) -> Option<Millis> {
        if let Some((asked, asked_at)) = self.last_request {
            let wait = if self.is_answered { ASK_MILLIS } else { ANSWER_MILLIS };
            if page_millis - asked_at <= wait || (self.is_answered && asked == shown) {
                return None;
            }
        }
        *self = Self { last_request: Some((shown, page_millis)), is_answered: false };
        Some(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_asked_once_and_the_next_one_after_its_answer() {
        let mut question = Question::default();
        assert_eq!(question.next_request(7, 0.0), Some(7));
        assert_eq!(question.next_request(8, 500.0), None, "one at a time");
        question.answer(7);
        assert_eq!(question.next_request(7, 10_000.0), None, "it is known");
        assert_eq!(question.next_request(8, 10_000.0), Some(8));
    }

    #[test]
    fn a_moment_without_an_answer_is_asked_again() {
        let mut question = Question::default();
        assert_eq!(question.next_request(7, 0.0), Some(7));
        assert_eq!(question.next_request(7, 1_999.0), None);
        assert_eq!(question.next_request(7, 2_001.0), Some(7));
    }

    #[test]
    fn after_a_break_of_the_link_the_paused_moment_is_asked_again() {
        let mut question = Question::answered(7);
        assert_eq!(question.next_request(7, 0.0), None);
        question.forget();
        assert_eq!(question.next_request(7, 1.0), Some(7));
        question.forget(); // before the answer came
        assert_eq!(question.next_request(7, 2.0), Some(7));
    }

    #[test]
    fn a_late_answer_is_none_to_what_was_asked_since() {
        let mut question = Question::default();
        assert_eq!(question.next_request(7, 0.0), Some(7));
        assert_eq!(question.next_request(8, 3_000.0), Some(8));
        question.answer(7);
        assert_eq!(question.next_request(8, 6_000.0), Some(8));
    }
}
