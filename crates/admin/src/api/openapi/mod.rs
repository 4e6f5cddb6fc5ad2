//! `GET /openapi.json`: the table of calls as OpenAPI 3.1.

mod schemas;

use axum::Json;
use serde_json::{Map, Value, json};

use super::BASE;
use super::calls::{Answer, Body, CALLS, Call};

/// `GET /openapi.json`
pub(super) async fn show() -> Json<Value> {
    Json(document())
}

/// The whole document.
pub(super) fn document() -> Value {
    let mut paths = Map::new();
    for call in CALLS {
        let path = paths.entry(format!("{BASE}{}", call.path));
        let operations = path.or_insert_with(|| json!({}));
        operations[call.method.as_str()] = operation(call);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Evenkeel admin API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Sees and steers a running gateway. What a call changed is in force when it has answered.",
        },
        "security": [{}, { "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token in the gateway's `admin.token_file`, where there is one.",
                },
            },
        },
    })
}

fn operation(call: &Call) -> Value {
    let mut operation = json!({
        "operationId": call.id,
        "summary": call.summary,
        "responses": responses(call),
    });
    let parameters: Vec<Value> = names_in(call.path)
        .map(path_parameter)
        .chain(call.query.iter().map(|query| {
            json!({
                "name": query.name,
                "in": "query",
                "description": query.doc,
                "schema": reference(query.schema),
            })
        }))
        .collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = &call.body {
        let content = match body {
            Body::Json(schema) => json!({ "application/json": { "schema": reference(schema) } }),
            Body::Toml => json!({ "text/plain": { "schema": { "type": "string" } } }),
        };
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation
}

/// The names in braces of a path.
fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_parameter(name: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": format!("The {name}, percent-encoded"),
        "schema": { "type": "string", "minLength": 1 },
    })
}

fn responses(call: &Call) -> Value {
    let (status, answer) = match &call.answer {
        Answer::Json(status, schema) => (*status, json_content(reference(schema))),
        Answer::List(schema) => {
            let schema = json!({ "type": "array", "items": reference(schema) });
            (200, json_content(schema))
        }
        Answer::Empty(status) => (*status, Value::Null),
        Answer::Stream(schema) => (200, stream(schema)),
        Answer::StreamOrList(schema) => {
            let list = json!({ "type": "array", "items": reference(schema) });
            let mut content = json_content(list);
            content["text/event-stream"] = stream(schema)["text/event-stream"].take();
            (200, content)
        }
    };
    let mut responses = Map::new();
    let mut well = json!({ "description": "All is well" });
    if !answer.is_null() {
        well["content"] = answer;
    }
    responses.insert(status.to_string(), well);
    for (status, when) in call.problems {
        responses.insert(status.to_string(), problem(when));
    }
    responses.insert("default".to_owned(), problem("The call cannot be answered"));
    responses.into()
}

fn json_content(schema: Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

/// OpenAPI has no words for what is within a stream, so an extension names it.
fn stream(schema: &str) -> Value {
    json!({
        "text/event-stream": {
            "schema": { "type": "string" },
            "x-event-data": reference(schema),
        },
    })
}

fn problem(when: &str) -> Value {
    json!({
        "description": when,
        "content": { "application/problem+json": { "schema": reference("Problem") } },
    })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn calls_have_ids_of_their_own_and_schemas_that_are_there() {
        let ids: BTreeSet<&str> = CALLS.iter().map(|call| call.id).collect();
        assert_eq!(ids.len(), CALLS.len());
        let document = document();
        let schemas = &document["components"]["schemas"];
        let text = document.to_string();
        let references = text.split("\"#/components/schemas/").skip(1);
        for name in references.filter_map(|rest| rest.split('"').next()) {
            assert!(schemas[name].is_object(), "there is no schema {name}");
        }
        let taken = schemas["NewEndpoint"]["properties"]["address"].is_object();
        assert!(taken, "the endpoint of the configuration");
    }

    /// Who adds a call has to say so in the reference too.
    #[test]
    fn the_reference_lists_every_call() {
        let page = include_str!("../../../../../docs/reference/admin-api.md");
        for call in CALLS {
            let method = call.method.as_str().to_uppercase();
            let path = call.path.replace("{endpoint}", "{id}");
            let row = format!("| `{method} {BASE}{path}");
            assert!(page.contains(&row), "no row begins {row}");
        }
    }
}
