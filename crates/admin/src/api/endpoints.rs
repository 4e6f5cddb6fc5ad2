//! The endpoints of a cluster: who is there, who comes, who goes.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse as _, Response};
use evenkeel_config as config;
use evenkeel_core::Admin;
use evenkeel_gateway::{Cluster, Control, EndpointReport};
use serde_json::Value;

use super::body::JsonBody;
use super::endpoint_view::EndpointView;
use super::named::{NamedCluster, NamedEndpoint};
use crate::path::path_segment;
use crate::problem::Problem;

/// What a change may set.
const CHANGES: [&str; 2] = ["weight", "admin"];

/// `GET /clusters/{cluster}/endpoints`
pub(super) async fn list(NamedCluster(cluster): NamedCluster) -> Json<Vec<EndpointView>> {
    Json(views(&cluster))
}

/// All endpoints of a cluster, in id order.
pub(super) fn views(cluster: &Cluster) -> Vec<EndpointView> {
    cluster.endpoints().iter().map(EndpointView::from).collect()
}

/// `POST /clusters/{cluster}/endpoints`
pub(super) async fn add(
    State(control): State<Control>,
    NamedCluster(cluster): NamedCluster,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let endpoint = config::endpoint_from_json(&body).map_err(Problem::unprocessable)?;
    let id = endpoint.shared_id();
    let added = control.add(&cluster, endpoint).await.map_err(|exists| {
        let detail = format!("{exists} in cluster {:?}", cluster.name());
        Problem::new(StatusCode::CONFLICT, detail)
    })?;
    tracing::info!(cluster = cluster.name(), endpoint = &*id, "endpoint added");
    let location = format!(
        "/api/v1/clusters/{}/endpoints/{}",
        path_segment(cluster.name()),
        path_segment(&id)
    );
    let view = view(&cluster, &id, added)?;
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(view)).into_response())
}

/// `GET /clusters/{cluster}/endpoints/{endpoint}`
pub(super) async fn show(named: NamedEndpoint) -> Result<Json<EndpointView>, Problem> {
    let report = named.cluster.endpoint(&named.id);
    let report = report.ok_or_else(|| named.missing())?;
    Ok(Json(EndpointView::from(&report)))
}

/// `PATCH /clusters/{cluster}/endpoints/{endpoint}`
pub(super) async fn change(
    State(control): State<Control>,
    named: NamedEndpoint,
    JsonBody(body): JsonBody,
) -> Result<Json<EndpointView>, Problem> {
    let (weight, admin) = changes(&body).map_err(Problem::unprocessable)?;
    let changed = control
        .update(&named.cluster, &named.id, weight, admin)
        .await
        .map_err(|_| named.missing())?;
    let admin = admin.map(Admin::as_str);
    tracing::info!(
        cluster = named.cluster.name(),
        endpoint = named.id,
        weight,
        admin,
        "endpoint changed"
    );
    view(&named.cluster, &named.id, changed).map(Json)
}

/// `DELETE /clusters/{cluster}/endpoints/{endpoint}`
pub(super) async fn remove(
    State(control): State<Control>,
    named: NamedEndpoint,
) -> Result<StatusCode, Problem> {
    control
        .remove(&named.cluster, &named.id)
        .await
        .map_err(|_| named.missing())?;
    tracing::info!(
        cluster = named.cluster.name(),
        endpoint = named.id,
        "endpoint removed"
    );
    Ok(StatusCode::NO_CONTENT)
}

/// An endpoint after a change: as it is, or, where somebody else has removed it since, as it was then. The
/// change was made, and its answer must not say otherwise.
fn view(
    cluster: &Cluster,
    id: &str,
    then: Option<EndpointReport>,
) -> Result<EndpointView, Problem> {
    let report = cluster
        .endpoint(id)
        .or(then)
        .ok_or_else(|| Problem::not_found(format!("the endpoint {id:?} was removed meanwhile")))?;
    Ok(EndpointView::from(&report))
}

fn changes(body: &Value) -> Result<(Option<u16>, Option<Admin>), String> {
    let Some(fields) = body.as_object() else {
        return Err("the change is not an object like {\"weight\": 5}".to_owned());
    };
    if let Some(unknown) = fields.keys().find(|key| !CHANGES.contains(&key.as_str())) {
        let hint = evenkeel_core::did_you_mean(unknown, CHANGES);
        return Err(format!(
            "unknown key {unknown:?}{hint} (a change takes {})",
            CHANGES.join(" and ")
        ));
    }
    if fields.is_empty() {
        return Err("the change is empty (give weight, admin, or both)".to_owned());
    }
    let weight = fields.get("weight").map(config::weight_from_json);
    let admin = fields.get("admin").map(admin);
    Ok((
        weight.transpose().map_err(|mistake| mistake.to_string())?,
        admin.transpose()?,
    ))
}

fn admin(value: &Value) -> Result<Admin, String> {
    [Admin::Enabled, Admin::Draining, Admin::Disabled]
        .into_iter()
        .find(|admin| value.as_str() == Some(admin.as_str()))
        .ok_or_else(|| format!("admin {value} is not \"enabled\", \"draining\" or \"disabled\""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_takes_weight_and_admin_and_nothing_else() {
        let both = json!({"weight": 3, "admin": "draining"});
        assert_eq!(changes(&both), Ok((Some(3), Some(Admin::Draining))));
        for (sent, part) in [
            (json!({}), "the change is empty"),
            (json!([1]), "not an object"),
            (
                json!({"weigth": 3}),
                "unknown key \"weigth\", did you mean \"weight\"?",
            ),
            (
                json!({"weight": 0.5}),
                "weight 0.5 is not a whole number from 0 to 65535",
            ),
            (json!({"weight": null}), "weight null is not"),
            (
                json!({"admin": "down"}),
                "admin \"down\" is not \"enabled\"",
            ),
            (json!({"admin": true}), "admin true is not"),
        ] {
            let detail = changes(&sent).expect_err(part);
            assert!(detail.contains(part), "{detail}");
        }
    }
}
