//! The sorts of frames that viewers hear.

use timeline::wire::ServerFrame;

/// The sort of a frame; a new one does not compile before it stands here.
pub const fn sort(frame: &ServerFrame) -> &'static str {
    match frame {
        ServerFrame::Hello { .. } => "hello",
        ServerFrame::Snapshot(_) => "snapshot",
        ServerFrame::Delta(_) => "delta",
        ServerFrame::List(_) => "list",
        ServerFrame::Connection { .. } => "connection",
        ServerFrame::Moment(_) => "moment",
        ServerFrame::Heartbeat { .. } => "heartbeat",
    }
}

/// All of them.
pub const SORTS: [&str; 7] = ["connection", "delta", "heartbeat", "hello", "list", "moment", "snapshot"];
