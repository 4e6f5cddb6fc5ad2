//! What values a key takes.

use std::fmt;

use crate::value::weight;

/// What values a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A table of keys.
    Table,
    /// A list of tables, each of which needs this key; empty: none.
    Tables(&'static str),
    /// Tables by a name that the user chooses.
    Named,
    /// A name.
    Name,
    /// The name of a cluster.
    Cluster,
    /// The path of a file.
    File,
    /// True or false.
    Flag,
    /// One of these words; the second list is not supported yet.
    Word(&'static [&'static str], &'static [&'static str]),
    /// A list of these words; the second list is not supported yet.
    Words(&'static [&'static str], &'static [&'static str]),
    /// After what a request is tried again.
    RetryCause,
    /// A list of that.
    RetryCauses,
    /// A whole number in a range.
    Integer(u32, u32),
    /// Likewise, or this word.
    IntegerOr(u32, u32, &'static str),
    /// A share of one.
    Share,
    /// A number in a range.
    Number(f64, f64),
    /// Where a key may come from.
    KeySource,
    /// A list of them.
    KeySources,
    /// A duration above zero.
    Duration,
    /// A duration, zero too.
    DurationOrZero,
    /// A size in a range of bytes.
    Size(u64, u64),
    /// A size, or this word.
    SizeOr(&'static str),
    /// What the admin API binds.
    Listen,
    /// What a listener binds.
    Bind,
    /// The host that a route takes.
    Host,
    /// A host with or without a port.
    Authority,
    /// The path that a route takes.
    Path,
    /// Where events are posted.
    Url,
    /// Where the servers of a registry answer.
    Urls,
    /// A list of events.
    Events,
    /// A method.
    Method,
    /// A path of a request, perhaps with a query.
    Target,
    /// Any text.
    Text,
    /// A regular expression.
    Pattern,
    /// Statuses.
    Statuses,
    /// A list of methods.
    Methods,
    /// Names of fields with their values.
    Fields,
    /// The name of a field.
    FieldName,
    /// A list of names of fields.
    FieldNames,
    /// Clusters with their weights.
    Split,
    /// One of these numbers.
    OneOf(&'static [u32]),
    /// The name of a cookie.
    Cookie,
    /// Where an endpoint is.
    Address,
    /// A network.
    Network,
    /// A list of networks.
    Networks,
    /// Names with texts.
    Labels,
    /// A weight.
    Weight,
    /// A strategy, by name or as a table with parameters.
    Strategy,
    /// A list of strategies.
    Strategies,
    /// An endpoint, as an address or a table.
    Endpoint,
    /// A list of them.
    Endpoints,
    /// What these words say; read where it is used.
    Said(&'static str),
    /// Whatever: the key is not supported yet.
    Unknown,
}

impl fmt::Display for Kind {
    /// What would be right, for messages and the reference.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Table => "a table",
            Self::Tables(_) => "a list of tables",
            Self::Named => "tables by name",
            Self::Name => "a name in quotes",
            Self::Cluster => "the name of a cluster",
            Self::File => "the path of a file",
            Self::Flag => "true or false",
            Self::Word(words, _) => return one_of(f, words),
            Self::Words(words, _) => return list_of(f, words),
            Self::RetryCause => "\"connect\", \"reset\", \"timeout\", a status or a class",
            Self::RetryCauses => {
                "a list of \"connect\", \"reset\", \"timeout\", statuses like \"503\" and classes like \"5xx\""
            }
            Self::Integer(least, most) => {
                return write!(f, "a whole number from {least} to {most}");
            }
            Self::IntegerOr(least, most, word) => {
                return write!(f, "\"{word}\" or a whole number from {least} to {most}");
            }
            Self::Share => "a number from 0 to 1",
            Self::Number(least, most) => {
                return write!(f, "a number from {least} to {most}");
            }
            Self::KeySource => {
                "header:NAME, cookie:NAME, query:NAME, path or source_ip"
            }
            Self::KeySources => "a list of sources, like [\"header:x-user\", \"source_ip\"]",
            Self::Duration => "a duration above zero, like \"250ms\", \"2s\" or \"1m\"",
            Self::DurationOrZero => "a duration, like \"250ms\", \"2s\" or \"0s\"",
            Self::Size(least, most) => {
                return write!(f, "a size from \"{least}B\" to \"{}MiB\"", most >> 20);
            }
            Self::SizeOr(word) => return write!(f, "\"{word}\" or a size, like \"64KiB\""),
            Self::Listen => "an IP address and a port, like \"127.0.0.1:8080\" or \"[::]:8080\"",
            Self::Bind => {
                "an address and a port, like \"127.0.0.1:8080\", or \"unix:/run/evenkeel.sock\""
            }
            Self::Host => "a host, like \"www.example.com\" or \"*.example.com\"",
            Self::Authority => "a host, like \"api.internal\" or \"api.internal:8080\"",
            Self::Path => "a path, like \"/v1/\"",
            Self::Urls => "a list of URLs, like [\"http://127.0.0.1:2379\"]",
            Self::Url => "a URL, like \"http://127.0.0.1:9000/hook\"",
            Self::Events => "a list of events, like [\"unhealthy\", \"panic\"]",
            Self::Method => "a method, like \"GET\"",
            Self::Target => "a path, like \"/healthz\"",
            Self::Text => "a text in quotes",
            Self::Pattern => "a regular expression, like 'ready: (yes|1)'",
            Self::Statuses => "statuses, like \"200-299\", \"2xx\" or \"200,204\"",
            Self::Methods => "a list of methods, like [\"GET\", \"HEAD\"]",
            Self::Fields => "a table of fields, like { \"x-canary\" = \"1\" }",
            Self::FieldName => "the name of a field, like \"x-canary\"",
            Self::FieldNames => "a list of names of fields, like [\"cookie\"]",
            Self::Split => "a table of clusters with weights, like { stable = 95, canary = 5 }",
            Self::OneOf(numbers) => return numbers_of(f, numbers),
            Self::Cookie => "the name of a cookie",
            Self::Address => "a host and a port, like \"127.0.0.1:9001\" or \"web.internal:80\"",
            Self::Network => "a network, like \"10.0.0.0/8\"",
            Self::Networks => "a list of networks, like [\"10.0.0.0/8\"]",
            Self::Labels => "a table of texts, like { version = \"2\" }",
            Self::Weight => weight::WANTED,
            Self::Said(words) => words,
            Self::Strategy => "a strategy, like \"least_request\" or { name = \"least_request\" }",
            Self::Strategies => "a list of strategies, like [\"prequal\", \"maglev\"]",
            Self::Endpoint => "an address or a table, like { address = \"127.0.0.1:9001\" }",
            Self::Endpoints => "a list of addresses or tables, like [\"127.0.0.1:9001\"]",
            Self::Unknown => "a value",
        })
    }
}

fn numbers_of(f: &mut fmt::Formatter<'_>, numbers: &[u32]) -> fmt::Result {
    for (index, number) in numbers.iter().enumerate() {
        let between = match index {
            0 => "",
            _ if index + 1 == numbers.len() => " or ",
            _ => ", ",
        };
        write!(f, "{between}{number}")?;
    }
    Ok(())
}

fn list_of(f: &mut fmt::Formatter<'_>, words: &[&str]) -> fmt::Result {
    f.write_str("a list of ")?;
    one_of(f, words)
}

fn one_of(f: &mut fmt::Formatter<'_>, words: &[&str]) -> fmt::Result {
    for (index, word) in words.iter().enumerate() {
        let between = match index {
            0 => "",
            _ if index + 1 == words.len() => " or ",
            _ => ", ",
        };
        write!(f, "{between}\"{word}\"")?;
    }
    Ok(())
}
