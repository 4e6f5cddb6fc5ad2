//! Things that a path names: found, or 404 by their name.

use std::sync::Arc;

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::StatusCode;
use axum::http::request::Parts;
use evenkeel_gateway::{Cluster, Control};

use crate::problem::Problem;

/// The cluster that the path names.
pub(super) struct NamedCluster(pub(super) Arc<Cluster>);

/// The cluster and the endpoint that the path names; the cluster is there, the endpoint maybe not.
pub(super) struct NamedEndpoint {
    pub(super) cluster: Arc<Cluster>,
    pub(super) id: String,
}

impl NamedEndpoint {
    pub(super) fn missing(&self) -> Problem {
        Problem::not_found(format!(
            "there is no endpoint {:?} in cluster {:?}",
            self.id,
            self.cluster.name()
        ))
    }
}

impl FromRequestParts<Control> for NamedCluster {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, control: &Control) -> Result<Self, Problem> {
        let params = params(parts, control).await?;
        cluster(control, &params).map(Self)
    }
}

impl FromRequestParts<Control> for NamedEndpoint {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, control: &Control) -> Result<Self, Problem> {
        let params = params(parts, control).await?;
        Ok(Self {
            cluster: cluster(control, &params)?,
            id: param(&params, "endpoint").to_owned(),
        })
    }
}

/// The named parts of the path, percent-decoded.
async fn params(parts: &mut Parts, control: &Control) -> Result<RawPathParams, Problem> {
    RawPathParams::from_request_parts(parts, control)
        .await
        .map_err(|rejection| match rejection {
            RawPathParamsRejection::InvalidUtf8InPathParam(_) => {
                Problem::new(StatusCode::BAD_REQUEST, "the path is not UTF-8 text")
            }
            other => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, other.to_string()),
        })
}

fn param<'p>(params: &'p RawPathParams, name: &str) -> &'p str {
    params
        .iter()
        .find(|(known, _)| *known == name)
        .map_or("", |(_, value)| value)
}

fn cluster(control: &Control, params: &RawPathParams) -> Result<Arc<Cluster>, Problem> {
    let name = param(params, "cluster");
    control
        .cluster(name)
        .ok_or_else(|| Problem::not_found(unknown_cluster(control, name)))
}

fn unknown_cluster(control: &Control, name: &str) -> String {
    let clusters = control.clusters();
    let names = clusters.iter().map(|cluster| cluster.name());
    let hint = evenkeel_core::did_you_mean(name, names);
    format!("there is no cluster {name:?}{hint}")
}
