//! Painting marks: what every painter shares. A painter knows how to fill a mark and how to draw a line, nothing of states.
//!
//! ```text
//!   marks (bars, ribbon) ──paint()──► Painter ◄── components' Paths: elements of the page
//!                                             ◄── canvas::Brush: pixels, where there are many pods
//!                                             ◄── preview::Picture: an SVG file
//! ```

pub mod canvas;

use timeline::Millis;

use super::ink::{Edge, Fill, Form, PodLook};
use super::places::Density;

/// A part of a bar: a stretch of a pod's life, or of pods that share a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BarMark {
    /// Its look.
    pub look: PodLook,
    /// When it began.
    pub from: Millis,
    /// When it ended; `None` while it lasts.
    pub to: Option<Millis>,
    /// Its middle, in pixels.
    pub y: f64,
    /// Its height, in pixels.
    pub height: f64,
    /// Density of its row.
    pub density: Density,
}

impl BarMark {
    /// Its upper edge, in pixels.
    pub fn upper(&self) -> f64 {
        self.y - self.height / 2.0
    }

    /// Its lower edge, in pixels.
    pub fn lower(&self) -> f64 {
        self.y + self.height / 2.0
    }

    /// Both edges; one where it has no height.
    pub fn edges(&self) -> impl Iterator<Item = f64> + use<> {
        [self.upper(), self.lower()].into_iter().take(if self.height > 0.0 { 2 } else { 1 })
    }
}

/// A painter of marks.
pub trait Painter {
    /// Fills a mark.
    fn fill(&mut self, mark: BarMark, fill: Fill);
    /// Draws lines along the upper and the lower edge of a mark; one line where it has no height.
    fn edges(&mut self, mark: BarMark, edge: Edge);
    /// Draws an upright line at the left edge of a mark.
    fn end(&mut self, mark: BarMark, edge: Edge);
}

/// Paints marks, those of one look together.
pub fn paint(marks: &[BarMark], painter: &mut dyn Painter) {
    let mut looks: Vec<PodLook> = Vec::new();
    for mark in marks {
        if !looks.contains(&mark.look) {
            looks.push(mark.look);
        }
    }
    for look in looks {
        let ink = look.ink();
        for mark in marks.iter().copied().filter(|mark| mark.look == look) {
            let is_roomy = mark.density == Density::Roomy;
            match (ink.form, ink.edge) {
                (Form::End, Some(edge)) => painter.end(mark, edge),
                (Form::Thread, Some(edge)) if is_roomy => painter.edges(BarMark { height: 0.0, ..mark }, edge),
                (_, edge) => {
                    painter.fill(mark, if is_roomy { ink.roomy } else { ink.low });
                    if let Some(edge) = edge.filter(|_| is_roomy) {
                        painter.edges(mark, edge);
                    }
                }
            }
        }
    }
}
