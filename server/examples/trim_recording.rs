//! Reduces a recording to the fields that Rollcast decodes: `cargo run --example trim_recording < full.jsonl > small.jsonl`.
//!
//! Recordings made with `rollcast record` are that small already; this is for those made with other tools.

use std::io::{BufRead, Write};

use serde_json::value::RawValue;
use server::feed::recording::RecordedLine;
use server::kube::translate::Object;
use timeline::fact::Kind;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let Ok(mut parsed) = serde_json::from_str::<RecordedLine<'_, &RawValue>>(&line) else {
            continue;
        };
        // Of other kinds only the moment is kept: it belongs to the span that was observed.
        let json = match Kind::ALL.into_iter().find(|kind| kind.name() == parsed.kind) {
            Some(kind) => {
                Object::decode(kind, parsed.object.get()).ok().and_then(|object| serde_json::to_string(&object).ok())
            }
            None => Some("{}".to_owned()),
        };
        let trimmed = json.and_then(|json| RawValue::from_string(json).ok());
        let Some(trimmed) = trimmed else { continue };
        parsed.object = &trimmed;
        writeln!(out, "{}", serde_json::to_string(&parsed)?)?;
    }
    Ok(())
}
