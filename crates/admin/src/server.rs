//! The admin server: which path leads where.

use std::future::Future;
use std::io;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::get;
use evenkeel_config::Token;
use tokio::net::TcpListener;

use crate::guests::Guests;
use crate::reloader::Reloader;
use crate::{api, auth, metrics, page, probes, problem};

/// The most bytes of a request's body.
const BODY_BYTES_MAX: usize = 1 << 20;

/// Answers on `listener` until `end` comes; calls under way are finished then.
///
/// # Errors
///
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    reloader: Reloader,
    token: Option<Token>,
    end: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    serve_with(listener, reloader, token, Router::new(), end).await
}

/// The same with calls of the host's own, by whole paths; they too need the token where one is set.
///
/// # Errors
///
/// When the listener fails.
///
/// # Panics
///
/// When one of them is a path of the API.
pub async fn serve_with(
    listener: TcpListener,
    reloader: Reloader,
    token: Option<Token>,
    more: Router,
    end: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    axum::serve(Guests::new(listener), whole(reloader, token, more))
        .with_graceful_shutdown(end)
        .await
}

/// The admin API as a service, without a socket.
pub fn router(reloader: Reloader, token: Option<Token>) -> Router {
    whole(reloader, token, Router::new())
}

fn whole(reloader: Reloader, token: Option<Token>, more: Router) -> Router {
    let control = reloader.control().clone();
    let guarded = Router::new()
        .nest(api::BASE, api::router(&api::Desk::new(reloader)))
        .merge(more.with_state(()))
        .route("/", get(page::index))
        .route("/metrics", get(metrics::scrape))
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(middleware::from_fn_with_state(
            auth::Guard::new(token),
            auth::check,
        ));
    Router::new()
        .route("/assets/{name}", get(page::asset))
        .route("/healthz", get(probes::healthz))
        .route("/readyz", get(probes::readyz))
        .method_not_allowed_fallback(problem::no_such_method)
        .fallback_service(guarded.with_state(control.clone()))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(problem::finish))
        .with_state(control)
}
