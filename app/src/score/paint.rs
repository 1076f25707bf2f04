//! Painting marks: what every painter shares. A painter knows how to fill a box and how to draw a line, nothing of states.
//!
//! ```text
//!   marks (bars, ribbon) ──paint()──► Painter ◄── components' Paths: elements of the page
//!                                             ◄── canvas::Brush: pixels, where there are many pods
//!                                             ◄── preview::Picture: an SVG file
//! ```

pub mod canvas;

use timeline::Millis;

use super::ink::{Colour, Edge, Fill, Form, PodLook};
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

/// A box: a stretch of time, and an upper and a lower edge in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// The time at the left edge of the area.
    pub from: Millis,
    /// The right edge; `None` for the end of the picture.
    pub to: Option<Millis>,
    /// Upper edge, in pixels.
    pub upper: f64,
    /// Lower edge, in pixels.
    pub lower: f64,
}

/// A painter of marks.
pub trait Painter {
    /// Fills a box. `look` and `density` are for those who look at what was painted.
    fn fill(&mut self, look: PodLook, density: Density, fill: Fill, area: Area);
    /// Draws lines along the upper and the lower edge of a box; one line where it has no height.
    fn edges(&mut self, look: PodLook, edge: Edge, colour: Colour, area: Area);
    /// Draws an upright line at the left edge of a box.
    fn end(&mut self, look: PodLook, edge: Edge, colour: Colour, area: Area);
}

/// Paints marks, those of one look together.
pub fn paint(marks: &[BarMark], painter: &mut impl Painter) {
    let mut looks: Vec<PodLook> = Vec::new();
    for mark in marks {
        if !looks.contains(&mark.look) {
            looks.push(mark.look);
        }
    }
    for look in looks {
        let ink = look.ink();
        for mark in marks.iter().filter(|mark| mark.look == look) {
            let half = mark.height / 2.0;
            let area = Area { from: mark.from, to: mark.to, upper: mark.y - half, lower: mark.y + half };
            let is_roomy = mark.density == Density::Roomy;
            match (ink.form, ink.edge) {
                (Form::End, Some(edge)) => painter.end(look, edge, ink.colour, area),
                (Form::Thread, Some(edge)) if is_roomy => {
                    painter.edges(look, edge, ink.colour, Area { upper: mark.y, lower: mark.y, ..area });
                }
                (_, edge) => {
                    painter.fill(look, mark.density, if is_roomy { ink.roomy } else { ink.low }, area);
                    if let Some(edge) = edge.filter(|_| is_roomy) {
                        painter.edges(look, edge, ink.colour, area);
                    }
                }
            }
        }
    }
}
