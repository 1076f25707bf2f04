//! A viewer of a Deployment: a copy that frames keep right, and what was wrong with their order. It may leave, come back with its copy,
//! and fall behind.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use server::hub::{FollowedDeployment, Handle, Update};
use timeline::viewer::{DeploymentCopy, Taken};
use timeline::wire::{self, ServerFrame, Snapshot};
use timeline::{Uid, Workload};
use tokio::sync::watch as signal;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use crate::live::viewers::place;

/// Longest time until a frame of what is known has come.
const SENT_WITHIN: Duration = Duration::from_secs(5);

/// A viewer that the server does not count.
pub struct Viewer {
    workload: Workload,
    state: Arc<Mutex<ViewerState>>,
    stalls: signal::Sender<bool>,
    following: Option<AbortHandle>,
}

/// Its copy, and what was wrong.
#[derive(Default)]
struct ViewerState {
    copy: DeploymentCopy,
    gone: BTreeSet<Uid>,
    wrong: Vec<String>,
}

impl Viewer {
    /// One that is not there yet.
    pub fn of(workload: Workload) -> Self {
        Self { workload, state: Arc::default(), stalls: signal::channel(false).0, following: None }
    }

    pub const fn is_there(&self) -> bool {
        self.following.is_some()
    }

    /// It comes, or comes back with the copy that it had.
    pub async fn come(&mut self, hub: &Handle) {
        let since = self.state.lock().unwrap().copy.position();
        let (first, followed) = hub.follow(self.workload.clone(), since).await.unwrap();
        self.state.lock().unwrap().take(&first.frame);
        let following = tokio::spawn(follow(followed, self.state.clone(), self.stalls.subscribe()));
        self.following = Some(following.abort_handle());
    }

    pub fn leave(&mut self) {
        self.following.take().inspect(AbortHandle::abort);
    }

    /// It takes no frames for a while, or takes them again; returns whether it takes none.
    pub fn stall(&self, stalls: bool) {
        self.stalls.send_replace(stalls);
    }

    pub fn is_stalled(&self) -> bool {
        *self.stalls.borrow()
    }

    /// Its copy is the server's, and at the same number it never was another one; no object came back from its end.
    pub async fn check(&self, hub: &Handle) {
        let sent = |snapshot: &Snapshot| wire::decode::<Snapshot>(&wire::encode(snapshot).unwrap()).unwrap();
        let began = Instant::now();
        loop {
            let ours = DeploymentCopy::from(sent(&hub.page(&self.workload).await.unwrap()));
            let is_right = self.state.lock().unwrap().is_of(&ours);
            if is_right {
                break;
            }
            assert!(began.elapsed() < SENT_WITHIN, "the viewer's copy is not the server's");
            sleep(Duration::from_millis(10)).await; // polling with a deadline
        }
        assert_eq!(self.state.lock().unwrap().wrong, Vec::<String>::new());
    }
}

impl ViewerState {
    fn take(&mut self, bytes: &[u8]) {
        let before = self.copy.position();
        let fits = match wire::decode(bytes).unwrap() {
            ServerFrame::Snapshot(snapshot) => {
                self.copy.take_snapshot(*snapshot);
                true
            }
            ServerFrame::Delta(delta) => self.copy.take_delta(delta) == Taken::Fits,
            _ => true,
        };
        if !fits {
            self.wrong.push("a delta does not fit".to_owned());
        }
        if self.copy.position().zip(before).is_some_and(|(now, before)| now.seq < before.seq) {
            self.wrong.push("the number went back".to_owned());
        }
        for pod in self.copy.model.pods.values() {
            if pod.gone_millis().is_some() {
                self.gone.insert(pod.uid);
            } else if self.gone.remove(&pod.uid) {
                self.wrong.push(format!("{} was gone and exists: {:?}", pod.name, pod.states));
            }
        }
    }

    /// The copy is the server's. What happens elsewhere has a number and no frame.
    fn is_of(&self, ours: &DeploymentCopy) -> bool {
        let is_same = (&ours.model, ours.deployment) == (&self.copy.model, self.copy.deployment);
        assert!(
            is_same || place(ours) != place(&self.copy),
            "the viewer's copy differs at the same number: {}",
            first_difference(&format!("{ours:#?}"), &format!("{:#?}", self.copy))
        );
        is_same
    }
}

/// The first line that differs, with what is before it.
fn first_difference(ours: &str, copy: &str) -> String {
    let same = ours.lines().zip(copy.lines()).take_while(|(ours, copy)| ours == copy).count();
    let lines = |text: &str| text.lines().skip(same.saturating_sub(20)).take(40).collect::<Vec<_>>().join("\n");
    format!("ours:\n{}\ncopy:\n{}", lines(ours), lines(copy))
}

async fn follow(mut followed: FollowedDeployment, viewer: Arc<Mutex<ViewerState>>, mut stalls: signal::Receiver<bool>) {
    while stalls.wait_for(|stalls| !stalls).await.is_ok() {
        let Ok(update) = followed.next().await else { return };
        let frame = match update {
            Update::Frame(frame) => frame,
            Update::Connection(_) => continue,
            Update::Missed => followed.resubscribe().await.unwrap().frame,
        };
        viewer.lock().unwrap().take(&frame);
    }
}
