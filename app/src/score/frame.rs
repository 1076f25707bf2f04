//! The stretch of time and the room for a picture.

use timeline::Millis;

/// Height that the bands may use before the page is measured, in pixels.
pub const UNMEASURED_HEIGHT: f64 = 430.0;
/// Width of the picture before it is measured, in pixels.
pub const UNMEASURED_WIDTH: f64 = 900.0;
/// Right end of shapes without an end, in seconds: the view box clips them.
pub const FAR: f64 = 10_000_000.0;

/// Times are counted from a whole multiple of this, which is no further away than this. Browsers draw in single precision: with a
/// distant base, bars on a wall would be misplaced by pixels after a week.
const BASE_STEP_MILLIS: Millis = 3_600_000;

/// Dashed lines begin and end at whole multiples of this, in milliseconds.
const LINE_STEP_MILLIS: Millis = 60_000;

/// The stretch of time and the room for a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// The time at the right edge.
    pub now_millis: Millis,
    /// The shown window, in milliseconds.
    pub window_millis: f64,
    /// Base of the times in the picture, so that they are small numbers.
    pub base_millis: Millis,
    /// Height that the bands may use, in pixels.
    pub height: f64,
    /// Width of the picture, in pixels.
    pub width: f64,
    /// Whether bars are painted on a canvas instead of being elements.
    pub is_painted: bool,
    /// Whether the viewer zoomed in: ribbons open into bars if there is room for them.
    pub is_opened: bool,
    /// Scale of text and rows: on a wall they grow with the screen.
    pub scale: f64,
}

impl Frame {
    /// Returns a frame that ends at that time and was not measured yet.
    pub const fn unmeasured(now_millis: Millis, window_millis: f64) -> Self {
        Self {
            now_millis,
            window_millis,
            base_millis: base_millis(now_millis),
            height: UNMEASURED_HEIGHT,
            width: UNMEASURED_WIDTH,
            is_painted: false,
            is_opened: false,
            scale: 1.0,
        }
    }

    /// Returns the frame with a new base if the present one is too far from its time.
    #[must_use]
    pub const fn near_base(self) -> Self {
        let is_far = self.now_millis.abs_diff(self.base_millis) > BASE_STEP_MILLIS.unsigned_abs();
        Self { base_millis: if is_far { base_millis(self.now_millis) } else { self.base_millis }, ..self }
    }

    /// Returns the time at the left edge.
    pub const fn from_millis(&self) -> Millis {
        self.now_millis - self.window_millis as Millis
    }

    /// Returns the time one window left of the left edge: a picture drawn from there stays complete while its window grows.
    pub const fn spare_from_millis(&self) -> Millis {
        self.from_millis() - self.window_millis as Millis
    }

    /// Returns the start and end of dashed lines. They are longer than the window, which may grow and moves on, but shorter than
    /// [`FAR`]: browsers draw such long dashed lines as solid ones.
    pub const fn dashed_millis(&self) -> (Millis, Millis) {
        let spare = (2.0 * self.window_millis) as Millis;
        let begin = (self.now_millis - spare).div_euclid(LINE_STEP_MILLIS) * LINE_STEP_MILLIS;
        let end = (self.now_millis + spare).div_euclid(LINE_STEP_MILLIS) * LINE_STEP_MILLIS;
        (begin, end + LINE_STEP_MILLIS)
    }

    /// Returns the width of a stretch of time, in pixels.
    pub fn width_of(&self, from_millis: Millis, to_millis: Option<Millis>) -> f64 {
        (to_millis.unwrap_or(self.now_millis) - from_millis) as f64 * self.width / self.window_millis
    }

    /// Returns the position of a time on the axis, in seconds from the base.
    pub fn x(&self, at_millis: Millis) -> f64 {
        (at_millis - self.base_millis) as f64 / 1000.0
    }
}

/// Returns the base of the times of a picture that ends at that time. Patterns begin there: two pictures of the same moment look
/// the same, regardless of when they were opened.
const fn base_millis(now_millis: Millis) -> Millis {
    now_millis.div_euclid(BASE_STEP_MILLIS) * BASE_STEP_MILLIS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_small_numbers_however_long_a_page_is_open() {
        let base = |now_millis| Frame { now_millis, ..Frame::unmeasured(0, 60_000.0) }.near_base().base_millis;
        assert_eq!([60_000, 3_600_000, 3_600_001, 604_812_345].map(base), [0, 0, 3_600_000, 604_800_000]);
        assert_eq!([-3_600_000, -3_600_001].map(base), [0, -7_200_000], "moments before it");
    }

    #[test]
    fn pictures_of_the_same_moment_count_from_the_same_time() {
        let base = |now_millis| Frame::unmeasured(now_millis, 60_000.0).base_millis;
        assert_eq!([0, 60_000, 3_599_999, 3_600_000, -1].map(base), [0, 0, 0, 3_600_000, -3_600_000]);
    }
}
