//! An endpoint that says in its handshake of TLS which HTTP it speaks.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use http::Request;

use super::connecting::Offer;
use super::error::HttpError;
use super::one::{self, Answered};
use super::two;
use super::{RequestBody, Target, Version};
use crate::long::Boxed;

/// The connections to an endpoint, of the version that it spoke last.
pub(super) struct Either<B> {
    pub(super) one: Arc<one::Pool<B>>,
    two: Arc<two::Shared<B>>,
    /// See [`Either::spoken`].
    spoken: AtomicU8,
    /// Held by the one who asks; the others wait for what comes of it.
    asking: tokio::sync::Mutex<()>,
}

impl<B> Either<B> {
    pub(super) fn new(target: impl Fn() -> Target) -> Self {
        Self {
            one: Arc::new(one::Pool::new(target())),
            two: Arc::new(two::Shared::new(target())),
            spoken: AtomicU8::new(0),
            asking: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn retire(&self) {
        self.one.retire();
        self.two.retire();
    }

    /// What it spoke last, if it was ever asked.
    fn spoken(&self) -> Option<Version> {
        match self.spoken.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Version::One),
            _ => Some(Version::Two),
        }
    }

    fn set_spoken(&self, spoken: Option<Version>) {
        let number = match spoken {
            None => 0,
            Some(Version::One) => 1,
            Some(Version::Two) => 2,
        };
        self.spoken.store(number, Ordering::Release);
    }
}

/// Sends a request as the endpoint speaks; if that is not known, it is asked first.
pub(super) fn call<B>(either: &Arc<Either<B>>, request: Request<B>) -> Boxed<Answered<B>>
where
    B: RequestBody,
{
    match either.spoken() {
        Some(version) => Box::pin(known(Arc::clone(either), request, version)),
        None => Box::pin(ask_first(Arc::clone(either), request)),
    }
}

/// Sends a request to an endpoint that speaks this, or did when it was asked.
async fn known<B>(either: Arc<Either<B>>, request: Request<B>, version: Version) -> Answered<B>
where
    B: RequestBody,
{
    let answered = send(&either, request, version).await;
    let Err(mut error) = answered else {
        return answered;
    };
    // It may have learned or forgotten the other: then it has refused what it was offered.
    if !error.is_connect() {
        return Err(error);
    }
    either.set_spoken(None);
    match error
        .is_refused_offer()
        .then(|| error.take_request())
        .flatten()
    {
        Some(request) => ask_first(either, request).await,
        None => Err(error),
    }
}

async fn ask_first<B>(either: Arc<Either<B>>, request: Request<B>) -> Answered<B>
where
    B: RequestBody,
{
    match either.ask().await {
        Ok(version) => send(&either, request, version).await,
        Err(error) => Err(HttpError::connect(error, request)),
    }
}

fn send<B>(either: &Either<B>, request: Request<B>, version: Version) -> Boxed<Answered<B>>
where
    B: RequestBody,
{
    match version {
        Version::One => one::call(&either.one, request),
        Version::Two => Box::pin(two::call(Arc::clone(&either.two), request)),
    }
}

impl<B> Either<B>
where
    B: RequestBody,
{
    /// Opens a connection on which it may speak either, and keeps that.
    async fn ask(&self) -> io::Result<Version> {
        let _alone = self.asking.lock().await;
        if let Some(version) = self.spoken() {
            return Ok(version);
        }
        let (stream, version) = self.one.target.dial(Offer::Either).await?;
        match version {
            Version::One => self.one.put(one::begin(stream).await?),
            Version::Two => drop(self.two.begin(stream).await?),
        }
        self.set_spoken(Some(version));
        Ok(version)
    }
}
