//! The process that takes the place of this one, as this one sees it.

use std::io;
use std::os::fd::AsFd as _;
use std::process::Child;
use std::time::Duration;

use evenkeel_gateway::{Control, Counts};

use super::channel::Channel;
use super::{Answer, Offer, Offered, Program, VERSION, monotonic};
use crate::exit::Code;
use crate::serving::AdminServer;

/// How long the next process may take until it is ready.
const START_MAX: Duration = Duration::from_secs(60);

/// How long a process whose end of the channel is closed may take to end.
const END_MAX: Duration = Duration::from_secs(5);

/// How long what was counted may take to be taken.
const TELL_MAX: Duration = Duration::from_secs(5);

/// The process that has taken the place of this one.
#[derive(Debug)]
pub(crate) struct Successor {
    channel: Channel,
    pid: u32,
    /// What it was told of what was counted.
    told: Counts,
}

/// A process that is ended when nobody waits for it any more.
struct Started {
    child: Option<Child>,
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Successor {
    /// Starts the program again, and returns when it accepts at the same sockets. Dropped before that, it ends
    /// the process that it started.
    ///
    /// # Errors
    ///
    /// Why it does not, in words; then nothing has changed here.
    pub(crate) async fn start(
        program: &Program,
        control: &Control,
        admin: Option<&AdminServer>,
    ) -> Result<Self, String> {
        let path = program.path().display();
        let (mut channel, theirs) = Channel::pair().map_err(|error| error.to_string())?;
        let child = program.start(theirs);
        let child = child.map_err(|error| format!("cannot start {path}: {error}"))?;
        let pid = child.id();
        let mut started = Started { child: Some(child) };
        tracing::info!(pid, "upgrade: started {path}");
        let taken = tokio::time::timeout(START_MAX, hand_over(&mut channel, control, admin));
        let told = match taken.await {
            Ok(Ok(told)) => told,
            Ok(Err(error)) => return Err(started.why(&error).await),
            Err(_) => return Err(format!("it was not ready after {} s", START_MAX.as_secs())),
        };
        // It goes on without us.
        started.child = None;
        Ok(Self { channel, pid, told })
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Tells it what was counted since it was told last.
    pub(crate) async fn tell(&mut self, control: &Control) {
        let counts = control.counts();
        let since = counts.since(&self.told);
        let told = tokio::time::timeout(TELL_MAX, self.channel.send(&since)).await;
        if !matches!(told, Ok(Ok(()))) {
            tracing::debug!("the next process was not told what was counted here");
        }
        self.told = counts;
    }
}

impl Started {
    /// Why the talk with it ended.
    async fn why(&mut self, error: &io::Error) -> String {
        let looks = 100;
        for _ in 0..looks {
            if let Some(child) = &mut self.child
                && let Ok(Some(status)) = child.try_wait()
            {
                self.child = None;
                let words = status.code().map_or("", words);
                return format!(
                    "it ended before it was ready ({status}{words}); its own words come before"
                );
            }
            tokio::time::sleep(END_MAX / looks).await;
        }
        format!("it does not answer as it should: {error}")
    }
}

/// What an exit code of ours means.
fn words(code: i32) -> &'static str {
    match code {
        code if code == Code::Runtime as i32 => ": failed at run time",
        code if code == Code::Usage as i32 => ": wrong usage",
        code if code == Code::Config as i32 => ": invalid, missing or unreadable configuration",
        _ => "",
    }
}

/// Gives the next process what it needs; returns what it was told of what was counted.
async fn hand_over(
    channel: &mut Channel,
    control: &Control,
    admin: Option<&AdminServer>,
) -> io::Result<Counts> {
    let lent = control.lend().await;
    let admin = admin.map(AdminServer::lend).transpose()?;
    let of_listeners = lent.iter().map(|lent| Offered {
        listener: Some(lent.listener.to_string()),
        owns_file: lent.owns_file,
    });
    let of_admin = admin.iter().map(|_| Offered {
        listener: None,
        owns_file: false,
    });
    let offer = Offer {
        version: VERSION,
        clock_zero: monotonic().saturating_sub(control.now().0),
        sockets: of_listeners.chain(of_admin).collect(),
    };
    channel.send(&offer).await?;
    for socket in lent.iter().map(|lent| &lent.socket).chain(&admin) {
        channel.send_socket(socket.as_fd()).await?;
    }
    drop((lent, admin));
    expect(channel, Answer::Prepared).await?;
    let counts = control.counts();
    channel.send(&(control.remember(), &counts)).await?;
    expect(channel, Answer::Ready).await?;
    Ok(counts)
}

async fn expect(channel: &mut Channel, wanted: Answer) -> io::Result<()> {
    let answer: Answer = channel.receive().await?;
    match answer == wanted {
        true => Ok(()),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}
