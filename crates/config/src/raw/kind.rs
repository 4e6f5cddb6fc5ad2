//! What values a key takes.

use std::fmt;

use crate::value::weight;

/// What values a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A table of keys.
    Table,
    /// A list of tables.
    Tables,
    /// Tables by a name that the user chooses.
    Named,
    /// A name.
    Name,
    /// The name of a cluster.
    Cluster,
    /// The path of a file.
    File,
    /// One of these words; the second list is not supported yet.
    Word(&'static [&'static str], &'static [&'static str]),
    /// A list of such words.
    Words(&'static [&'static str], &'static [&'static str]),
    /// A whole number in a range.
    Integer(u32, u32),
    /// Likewise, or this word.
    IntegerOr(u32, u32, &'static str),
    /// Likewise, where that word is not supported yet.
    IntegerOrLater(u32, u32, &'static str),
    /// A share of one.
    Share,
    /// A duration above zero.
    Duration,
    /// A duration, zero too.
    DurationOrZero,
    /// A size in a range of bytes.
    Size(u64, u64),
    /// A size, or this word.
    SizeOr(&'static str),
    /// What a listener binds.
    Listen,
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
    /// An endpoint, as an address or a table.
    Endpoint,
    /// A list of them.
    Endpoints,
    /// Whatever: the key is not supported yet.
    Unknown,
}

impl fmt::Display for Kind {
    /// What would be right, for messages and the reference.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Table => "a table",
            Self::Tables => "a list of tables",
            Self::Named => "tables by name",
            Self::Name => "a name in quotes",
            Self::Cluster => "the name of a cluster",
            Self::File => "the path of a file",
            Self::Word(words, _) => return one_of(f, words),
            Self::Words(words, _) => {
                f.write_str("a list of ")?;
                return one_of(f, words);
            }
            Self::Integer(least, most) | Self::IntegerOrLater(least, most, _) => {
                return write!(f, "a whole number from {least} to {most}");
            }
            Self::IntegerOr(least, most, word) => {
                return write!(f, "\"{word}\" or a whole number from {least} to {most}");
            }
            Self::Share => "a number from 0 to 1",
            Self::Duration => "a duration above zero, like \"250ms\", \"2s\" or \"1m\"",
            Self::DurationOrZero => "a duration, like \"250ms\", \"2s\" or \"0s\"",
            Self::Size(least, most) => {
                return write!(f, "a size from \"{least}B\" to \"{}MiB\"", most >> 20);
            }
            Self::SizeOr(word) => return write!(f, "\"{word}\" or a size, like \"64KiB\""),
            Self::Listen => "an IP address and a port, like \"127.0.0.1:8080\" or \"[::]:8080\"",
            Self::Address => "a host and a port, like \"127.0.0.1:9001\" or \"web.internal:80\"",
            Self::Network => "a network, like \"10.0.0.0/8\"",
            Self::Networks => "a list of networks, like [\"10.0.0.0/8\"]",
            Self::Labels => "a table of texts, like { version = \"2\" }",
            Self::Weight => weight::WANTED,
            Self::Strategy => "a strategy, like \"least_request\" or { name = \"least_request\" }",
            Self::Endpoint => "an address or a table, like { address = \"127.0.0.1:9001\" }",
            Self::Endpoints => "a list of addresses or tables, like [\"127.0.0.1:9001\"]",
            Self::Unknown => "a value",
        })
    }
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
