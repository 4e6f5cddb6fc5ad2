//! Whoever wants to know what happens.

use std::fmt;
use std::io;
use std::sync::Arc;

use evenkeel_core::health::Happening;
use evenkeel_core::{Nanos, Outcome, Receipt, Snapshot};

/// Hears what happens in a cluster. All methods do nothing unless they are written.
///
/// Ready ones: `log::EventLog` writes events into the log, `receipts::DecisionLog` writes decisions into a
/// file. Metrics are asked for instead: see [`Stats`](crate::Stats).
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use evenkeel_client::{Observe, Settings, core::health::Happening};
///
/// #[derive(Debug)]
/// struct Told;
///
/// impl Observe for Told {
///     fn happened(&self, cluster: &str, happening: &Happening) {
///         println!("{cluster}: {happening:?}");
///     }
/// }
///
/// let settings = Settings::new("web").observe(Arc::new(Told));
/// ```
pub trait Observe: fmt::Debug + Send + Sync {
    /// An endpoint's health changed, or so many fail that the cause is taken to be shared. By the thread
    /// that looks after the cluster, or the one that changes its list; neither holds a lock meanwhile.
    fn happened(&self, cluster: &str, happening: &Happening) {
        let _ = (cluster, happening);
    }

    /// Something went wrong with what looks after the cluster; calls go on. With the feature `tracing` it stands in the
    /// log as an error as well. By the thread that looks after the cluster, or the one that makes it.
    fn trouble(&self, cluster: &str, trouble: &Trouble<'_>) {
        let _ = (cluster, trouble);
    }

    /// Whether the decisions of a call are to be told with their receipts. Asked once for each call; a call
    /// whose decisions nobody wants is not traced.
    fn wants_receipts(&self) -> bool {
        false
    }

    /// The decisions that were made for a call, when it has come to its end.
    fn decided(&self, call: &Decided<'_>) {
        let _ = call;
    }
}

/// What went wrong with what looks after a cluster.
///
/// # Examples
///
/// ```
/// use evenkeel_client::observe::{Observe, Trouble};
///
/// #[derive(Debug)]
/// struct Alarm;
///
/// impl Observe for Alarm {
///     fn trouble(&self, cluster: &str, trouble: &Trouble<'_>) {
///         eprintln!("{cluster}: {trouble}");
///     }
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Trouble<'a> {
    /// The system gives no thread for it: no endpoint is ejected, and none returns or warms up.
    NoThread(&'a io::Error),
    /// The system gives no thread, or no runtime, for its checks: endpoints are not checked.
    NoChecks(&'a io::Error),
    /// An observer, a strategy of one's own, a service or a check panicked there. The step is left out, the next ones
    /// follow.
    Panicked {
        /// What it said, if that is text.
        message: &'a str,
    },
}

impl fmt::Display for Trouble<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoThread(error) => write!(
                f,
                "nothing looks after the cluster, no thread for it: {error}"
            ),
            Self::NoChecks(error) => {
                write!(f, "endpoints are not checked, no thread for that: {error}")
            }
            Self::Panicked { message } => write!(
                f,
                "what looks after the cluster ran into a panic: {message}"
            ),
        }
    }
}

/// The decisions that were made for one call.
///
/// # Examples
///
/// ```
/// use evenkeel_client::observe::{Decided, Observe};
///
/// #[derive(Debug)]
/// struct Names;
///
/// impl Observe for Names {
///     fn wants_receipts(&self) -> bool {
///         true
///     }
///
///     fn decided(&self, call: &Decided<'_>) {
///         println!("{:?}: {} decisions", call.request_id, call.decisions.len());
///     }
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Decided<'a> {
    /// The name of the call; none: it has none.
    pub request_id: Option<&'a str>,
    /// Its decisions, the first one first.
    pub decisions: &'a [Decision],
    /// The time now.
    pub now: Nanos,
}

/// A decision, and what came of it.
///
/// # Examples
///
/// ```
/// use evenkeel_client::observe::Decision;
///
/// fn told(decision: &Decision) -> String {
///     let of = decision.snapshot().endpoints().len();
///     format!("one of {of}, in {} ns: {:?}", decision.decision_ns, decision.outcome)
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Decision {
    pub(crate) view: Arc<crate::view::View>,
    /// Why it came out so.
    pub receipt: Receipt,
    /// How long it took.
    pub decision_ns: u64,
    /// When it was made.
    pub chosen_at: Nanos,
    /// When the call ended there.
    pub ended_at: Option<Nanos>,
    /// How it ended; none: nobody was chosen.
    pub outcome: Option<Outcome>,
    /// The status of the answer, where answers have one.
    pub status: Option<u16>,
    /// What went wrong, in a word.
    pub error: Option<&'static str>,
}

impl Decision {
    /// What it was made on.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.view.snapshot
    }
}
