//! What a gateway says, and what is asked of it, in a thread of its own: a terminal that takes no
//! picture holds up neither the connection's end nor signals, and what cannot be shown waits at the gateway.

use std::time::Duration;

use evenkeel_admin::path_segment;
use hyper::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use super::Input;
use super::model::{Shadow, Told};
use super::state::{Change, Wish};
use crate::client::{Client, Cluster};
use crate::exit::Failure;

/// A gateway that says nothing for so long is gone; it has something to say every second.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// Between two tries to reach it.
const RETRY: Duration = Duration::from_secs(1);

/// Between two looks at what is not streamed.
const LOOK: Duration = Duration::from_secs(1);

/// Looking takes at most one part in so many of the time.
const PARTS: u32 = 10;

/// How many decisions are asked for.
const DECISIONS: usize = 100;

/// The ends of the feed.
pub(super) struct Feed {
    pub(super) client: Client,
    pub(super) told: mpsc::Sender<Input>,
    /// The cluster that is shown.
    pub(super) cluster: watch::Receiver<String>,
    pub(super) wishes: mpsc::Receiver<Wish>,
}

/// Nobody looks any more, or the gateway is gone.
type Ended = Result<(), Failure>;

impl Feed {
    /// Goes on until nobody looks any more, and comes back when the gateway does.
    pub(super) async fn run(mut self) {
        while !self.told.is_closed() {
            let ended = {
                let Self {
                    client,
                    told,
                    cluster,
                    wishes,
                } = &mut self;
                let session = Session {
                    client,
                    told,
                    changed: Notify::new(),
                };
                tokio::try_join!(
                    session.figures(),
                    session.events(),
                    session.looks(cluster.clone()),
                    session.wishes(wishes),
                )
            };
            let why = match ended {
                Ok(_) => return,
                Err(failure) => failure.words(),
            };
            if self.told.send(Input::Told(Told::Lost(why))).await.is_err() {
                return;
            }
            sleep(RETRY).await;
        }
    }
}

/// One connection, so to speak: what fails in it fails all of it.
struct Session<'f> {
    client: &'f Client,
    told: &'f mpsc::Sender<Input>,
    /// Something was changed from here, so that it is time to look.
    changed: Notify,
}

impl Session<'_> {
    async fn figures(&self) -> Ended {
        let mut stream = self.client.events("/stats/stream").await?;
        loop {
            let next = timeout(SILENCE_MAX, stream.next()).await;
            let text = next.map_err(|_| silent())??.ok_or_else(ended)?;
            self.tell(Told::Figures(parsed(&text)?)).await?;
        }
    }

    async fn events(&self) -> Ended {
        let mut stream = self.client.events("/events").await?;
        self.tell(Told::Begin).await?;
        loop {
            let text = stream.next().await?.ok_or_else(ended)?;
            self.tell(Told::Event(parsed(&text)?)).await?;
        }
    }

    /// What is not streamed, again and again, and at once when another cluster is shown.
    async fn looks(&self, mut cluster: watch::Receiver<String>) -> Ended {
        loop {
            let began = Instant::now();
            let name = cluster.borrow_and_update().clone();
            let clusters = self.client.call(Method::GET, "/clusters", None).await?;
            self.tell(Told::Clusters(read(clusters)?)).await?;
            let decisions = self.decisions(&name).await;
            self.tell(Told::Decisions(name.clone(), decisions)).await?;
            let shadows = self.shadows(&name).await;
            self.tell(Told::Shadows(name, shadows)).await?;
            let pause = LOOK.max(began.elapsed() * PARTS);
            tokio::select! {
                () = sleep(pause) => {}
                () = self.changed.notified() => {}
                changed = cluster.changed() => changed.map_err(|_| ended())?,
            }
        }
    }

    async fn decisions(&self, cluster: &str) -> Result<Vec<Value>, String> {
        let cluster = path_segment(cluster);
        let path = format!("/decisions?cluster={cluster}&limit={DECISIONS}");
        let answer = self.client.call(Method::GET, &path, None).await;
        answer.and_then(read).map_err(|failure| failure.words())
    }

    async fn shadows(&self, cluster: &str) -> Vec<Shadow> {
        let path = format!("/clusters/{}/shadow", path_segment(cluster));
        let answer = self.client.call(Method::GET, &path, None).await;
        answer.and_then(read).unwrap_or_default()
    }

    async fn wishes(&self, wishes: &mut mpsc::Receiver<Wish>) -> Ended {
        while let Some(wish) = wishes.recv().await {
            match wish {
                Wish::Change(change) => self.change(change).await?,
                Wish::Receipt(id) => {
                    let path = format!("/decisions/{}?prefix=true", path_segment(&id));
                    let answer = self.client.call(Method::GET, &path, None).await;
                    let found = answer.map_err(|failure| failure.words());
                    self.tell(Told::Receipt(found)).await?;
                }
            }
        }
        Err(ended())
    }

    async fn change(&self, change: Change) -> Ended {
        let cluster = Cluster {
            name: change.cluster,
        };
        let path = cluster.endpoint_path(&change.endpoint);
        let body = json!({"admin": change.admin});
        let answer = self.client.call(Method::PATCH, &path, Some(&body)).await;
        let how = match answer {
            Ok(endpoint) => Ok(made(&change.endpoint, &endpoint)),
            Err(failure) => Err(format!("{}: {}", change.endpoint, failure.words())),
        };
        self.changed.notify_one();
        self.tell(Told::Changed(how)).await
    }

    async fn tell(&self, told: Told) -> Ended {
        let sent = self.told.send(Input::Told(told)).await;
        sent.map_err(|_| ended())
    }
}

/// What a change came to, in the gateway's words.
fn made(id: &str, endpoint: &Value) -> String {
    let text = |key: &str| endpoint.get(key).and_then(Value::as_str).unwrap_or("-");
    format!("{id}: {}, {}", text("state"), text("reason"))
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| strange(&error))
}

/// An answer as what it should be.
pub(super) fn read<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|error| strange(&error))
}

fn strange(error: &serde_json::Error) -> Failure {
    Failure::runtime(format!("the gateway said what is not understood: {error}"))
}

fn silent() -> Failure {
    let seconds = SILENCE_MAX.as_secs();
    Failure::runtime(format!("it has said nothing for {seconds} s"))
}

fn ended() -> Failure {
    Failure::runtime("it ended the connection")
}
