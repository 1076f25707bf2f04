//! Damages what parsers are given: bytes changed, taken out, repeated, cut off, or something strange between them.

use fastrand::Rng;

/// What nobody expects.
const STRANGE: [&str; 24] = [
    "",
    "\0",
    "\r\n",
    "\n\n",
    ":",
    "{",
    "}",
    "[",
    "]]",
    "\"",
    "\\u0000",
    "\\ud800",
    "null",
    "true",
    "-1",
    "1e999",
    "99999999999999999999",
    "&a *a",
    "!!binary x",
    "%ff",
    "\u{202e}",
    "\t",
    "..",
    "ä",
];

/// The same, damaged here and there.
pub fn damaged(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=rng.usize(..4) {
        let at = rng.usize(..=bytes.len());
        let to = (at + rng.usize(..24)).min(bytes.len());
        match rng.u8(..7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..to)),
            2 => {
                let again: Vec<u8> = bytes.get(at..to).unwrap_or_default().to_vec();
                drop(bytes.splice(at..at, again));
            }
            3 => {
                let strange = rng.choice(STRANGE).unwrap_or_default();
                drop(bytes.splice(at..to, strange.bytes()));
            }
            4 => {
                let strange = rng.choice(STRANGE).unwrap_or_default();
                drop(bytes.splice(at..at, strange.bytes()));
            }
            5 => bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << rng.u8(..8)),
            _ => bytes.get_mut(at).into_iter().for_each(|byte| *byte = rng.u8(..)),
        }
    }
    bytes
}
