//! A small judge of JSON by the schemas of the API's own document: as much of JSON Schema as they use,
//! and whatever else they use is a mistake.

use serde_json::Value;

/// What is wrong with a value by a schema of a document; nothing when it fits.
pub(crate) fn mistakes(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let pointer = name.strip_prefix('#').expect("a local reference");
        let schema = document.pointer(pointer).expect("the schema is there");
        return mistakes(document, schema, value, at);
    }
    let mut all = Vec::new();
    let keys = schema.as_object().into_iter().flatten();
    for (keyword, rule) in keys {
        match keyword.as_str() {
            "type" if !has_type(rule, value) => all.push(format!("{at}: {value} is not {rule}")),
            "enum" if !rule.as_array().expect("a list").contains(value) => {
                all.push(format!("{at}: {value} is not among {rule}"));
            }
            "const" if rule != value => all.push(format!("{at}: {value} is not {rule}")),
            "minimum" | "maximum" | "minLength" => {
                let beyond = beyond(keyword, rule, value);
                all.extend(beyond.map(|word| format!("{at}: {value} is {word} {rule}")));
            }
            "required" => {
                let missing = rule.as_array().into_iter().flatten();
                let missing = missing.filter_map(Value::as_str);
                let missing = missing.filter(|key| value.get(key).is_none());
                all.extend(missing.map(|key| format!("{at}: there is no {key}")));
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                all.extend(items.flat_map(|(place, item)| {
                    mistakes(document, rule, item, &format!("{at}[{place}]"))
                }));
            }
            "anyOf" => {
                let any = rule.as_array().expect("a list");
                if !any
                    .iter()
                    .any(|one| mistakes(document, one, value, at).is_empty())
                {
                    all.push(format!("{at}: {value} fits none of {rule}"));
                }
            }
            "properties" | "additionalProperties" => {}
            "type" | "enum" | "const" | "description" | "format" => {}
            other => panic!("the judge does not know {other}"),
        }
    }
    all.extend(wrong_properties(document, schema, value, at));
    all
}

/// On which side of its limit a value lies, if it is beyond it.
fn beyond(keyword: &str, limit: &Value, value: &Value) -> Option<&'static str> {
    let number = value.as_f64();
    let length = value.as_str().map(|text| text.len() as u64);
    match keyword {
        "minimum" => (number? < limit.as_f64()?).then_some("below"),
        "maximum" => (number? > limit.as_f64()?).then_some("above"),
        _ => (length? < limit.as_u64()?).then_some("shorter than"),
    }
}

fn wrong_properties(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let fields = value.as_object().into_iter().flatten();
    let judge = |(key, value): (&String, &Value)| {
        let at = format!("{at}.{key}");
        match (&schema["properties"][key], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => vec![format!("{at} is not told of")],
            (Value::Null, Value::Null | Value::Bool(true)) => Vec::new(),
            (Value::Null, rule) | (rule, _) => mistakes(document, rule, value, &at),
        }
    };
    fields.flat_map(judge).collect()
}

fn has_type(rule: &Value, value: &Value) -> bool {
    let is = |kind: &Value| match kind.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        other => panic!("no type {other:?}"),
    };
    match rule {
        Value::Array(kinds) => kinds.iter().any(is),
        kind => is(kind),
    }
}
