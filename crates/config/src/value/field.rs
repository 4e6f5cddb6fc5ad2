//! Fields of messages: which names and values are legal, and which an operator may change.

use super::mistake::Mistake;

/// The fields that the gateway's own rules need: they frame a message, concern one connection, or
/// say what only the gateway knows. Names compare with `_` for `-`, since some servers do.
const OWN: &[(&str, &str)] = &[
    ("connection", "it concerns one connection only"),
    ("content-length", "it frames the message"),
    ("endpoint-load-metrics", "it is for balancers only"),
    ("endpoint-load-metrics-bin", "it is for balancers only"),
    ("expect", "the gateway relays it itself"),
    (
        "forwarded",
        "the gateway passes it on from trusted proxies only",
    ),
    ("host", "use rewrite = { host = \"…\" }"),
    ("http2-settings", "it concerns one connection only"),
    ("keep-alive", "it concerns one connection only"),
    ("proxy-authorization", "it ends at the gateway"),
    ("proxy-connection", "it concerns one connection only"),
    ("te", "it concerns one connection only"),
    ("trailer", "it concerns one connection only"),
    ("transfer-encoding", "it frames the message"),
    ("upgrade", "it concerns one connection only"),
    ("x-forwarded-for", "the gateway sets it itself"),
    ("x-forwarded-host", "the gateway sets it itself"),
    ("x-forwarded-proto", "the gateway sets it itself"),
    ("x-request-id", "the gateway sets it itself"),
];

/// Checks the name of a field.
pub(crate) fn check_field_name(name: &str) -> Result<(), Mistake> {
    if is_token(name) {
        return Ok(());
    }
    let shown: String = name.chars().take(40).collect();
    Err(Mistake::new(
        format!("{shown:?} is not the name of a field"),
        "letters, digits and \"-\", like \"x-canary\"",
    ))
}

/// Checks the name of a field that an operator wants to change.
pub(crate) fn check_editable(name: &str) -> Result<(), Mistake> {
    check_field_name(name)?;
    let name = name.to_ascii_lowercase();
    let bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    if matches!(&*bare, "contentlength" | "transferencoding") {
        let message = format!("the field {name:?} cannot be changed");
        return Err(Mistake::new(message, "it frames the message"));
    }
    let dashed = name.replace('_', "-");
    match OWN.iter().find(|(own, _)| *own == dashed) {
        Some((_, why)) => {
            let message = format!("the field {name:?} cannot be changed");
            Err(Mistake::new(message, *why))
        }
        None => Ok(()),
    }
}

/// Checks the name of a field of a check's request, which has no body and a connection of its own.
pub(crate) fn check_probe_field(name: &str) -> Result<(), Mistake> {
    check_field_name(name)?;
    let lower = name.to_ascii_lowercase();
    let framing = [
        "connection",
        "content-length",
        "expect",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    if framing.contains(&&*lower) {
        let message = format!("a check cannot send the field {name:?}");
        return Err(Mistake::new(
            message,
            "checks have no body and a connection of their own",
        ));
    }
    Ok(())
}

/// Checks the value of a field: visible ASCII, spaces and tabs, no space around it (RFC 9110
/// section 5.5 leaves everything else to history).
pub(crate) fn check_field_value(value: &str) -> Result<(), Mistake> {
    let legal = |byte: u8| matches!(byte, b' '..=b'~' | b'\t');
    let why = if !value.bytes().all(legal) {
        "holds a byte that is not visible ASCII, space or tab"
    } else if value.trim_matches([' ', '\t']) != value {
        "has space around it"
    } else if value.len() > VALUE_BYTES_MAX {
        "is longer than 4096 bytes"
    } else {
        return Ok(());
    };
    let shown: String = value.chars().take(40).collect();
    Err(Mistake::new(
        format!("the value {shown:?} {why}"),
        "it would not be a legal field value",
    ))
}

/// The most bytes of a value that is set.
const VALUE_BYTES_MAX: usize = 4096;

/// Whether a text is a token, and not too long a one.
pub(crate) fn is_token(text: &str) -> bool {
    text.len() <= NAME_BYTES_MAX && evenkeel_http1::is_token(text.as_bytes())
}

/// The most bytes of a token.
const NAME_BYTES_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_gateway_are_not_for_operators() {
        for name in [
            "x-team",
            "Cookie",
            "cache-control",
            "Via",
            "X-Forwarded-User",
        ] {
            assert_eq!(check_editable(name), Ok(()), "{name}");
        }
        for name in [
            "",
            "a b",
            "x:y",
            "Host",
            "CONNECTION",
            "content_length",
            "Content-Length",
            "transfer--encoding",
            "X-Forwarded-For",
            "x_request_id",
            "TE",
        ] {
            assert!(check_editable(name).is_err(), "{name}");
        }
    }

    #[test]
    fn values_are_one_line_of_ascii() {
        for value in ["", "a", "a b\tc", "\"q\"; x=1"] {
            assert_eq!(check_field_value(value), Ok(()), "{value}");
        }
        for value in [
            " a",
            "a\t",
            "a\r\nb: c",
            "gr\u{fc}n",
            "\0",
            &"x".repeat(4097),
        ] {
            assert!(check_field_value(value).is_err(), "{value}");
        }
    }
}
