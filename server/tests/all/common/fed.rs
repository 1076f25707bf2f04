//! Recordings for a hub.

use server::recording::Observed;
use server::source::SourceEvent;
use tokio::sync::mpsc::Sender;

/// Puts observations into the queue of a hub. Whoever asks the hub afterwards learns of all of them.
pub async fn feed(events: &Sender<SourceEvent>, observed: Vec<Observed>) {
    for observed in observed {
        events.send(SourceEvent::Recorded { observed: Box::new(observed), line: None }).await.unwrap();
    }
}
