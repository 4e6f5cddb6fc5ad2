//! What may be tried again, by where it failed and what was asked.
//!
//! A request that an endpoint may have acted upon is repeated only when repeating it does no more
//! than sending it once. The whole rule is [`may_repeat`]; the guide prints it as a table, and a
//! test drives a request through each of its cells.

use crate::cluster::RetryRules;

/// Where an attempt failed, in the order in which an exchange goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// There was no connection, so nothing was sent.
    Connect,
    /// The connection ended or broke before a byte of the answer.
    Silent,
    /// No answer within the time for one try.
    Late,
    /// The answer has a status that stands for another try; nothing of it was passed on.
    Status,
    /// A part of the answer came, and nothing of it was passed on.
    Broken,
    /// The client has a part of the answer.
    Begun,
}

/// What was asked and how much of it has left, as far as repeating it is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeatable {
    /// Sending it twice does no more than sending it once.
    pub(super) idempotent: bool,
    /// No byte of it was sent.
    pub(super) unsent: bool,
    /// All that was sent is still here.
    pub(super) whole: bool,
}

/// Whether another endpoint may be sent the same request.
pub(super) fn may_repeat(point: Point, what: Repeatable, rules: &RetryRules) -> bool {
    let harmless = match point {
        Point::Connect => rules.connect,
        Point::Silent if what.unsent => rules.connect || rules.reset,
        Point::Silent => rules.reset && what.idempotent,
        Point::Late => rules.timeout && what.idempotent,
        Point::Status => what.idempotent,
        Point::Broken | Point::Begun => false,
    };
    harmless && what.whole
}

/// Whether a request that a kept-alive connection took to its death may be sent once more to the same
/// endpoint: nothing was sent, or sending it twice does no harm; and all of it is still here.
pub(super) fn may_replace(what: Repeatable) -> bool {
    (what.unsent || what.idempotent) && what.whole
}

#[cfg(test)]
mod tests {
    use evenkeel_http1::Method;

    use super::*;

    const ALL: RetryRules = RetryRules {
        attempts: 2,
        connect: true,
        reset: true,
        timeout: true,
        statuses: Vec::new(),
        body: 65_536,
        per_try_timeout: None,
        hedge_after: None,
    };

    /// The columns of the guide's table.
    const COLUMNS: [Column; 6] = [
        Column::At(Point::Connect),
        Column::KeptAlive,
        Column::At(Point::Silent),
        Column::At(Point::Late),
        Column::At(Point::Status),
        Column::At(Point::Broken),
    ];

    enum Column {
        At(Point),
        KeptAlive,
    }

    fn cell(column: &Column, idempotent: bool) -> &'static str {
        let mut what = Repeatable {
            idempotent,
            unsent: matches!(column, Column::At(Point::Connect)),
            whole: true,
        };
        let is_allowed = |what| match column {
            Column::At(point) => may_repeat(*point, what, &ALL),
            Column::KeptAlive => may_replace(what),
        };
        let allowed = is_allowed(what);
        what.whole = false;
        assert!(!is_allowed(what), "a part is no request");
        if allowed { "again" } else { "once" }
    }

    /// Case D02: the guide has this table, and a test end to end takes it from there.
    #[test]
    fn d02_the_table_of_the_guide() {
        let page = include_str!("../../../../docs/guide/retries.md");
        let row = |name: &str, idempotent| {
            let cells = COLUMNS.iter().map(|column| cell(column, idempotent));
            let cells: Vec<&str> = std::iter::once(name).chain(cells).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let methods = [
            ("`GET`", Method::Get),
            ("`HEAD`", Method::Head),
            ("`OPTIONS`", Method::Options),
            ("`PUT`", Method::Put),
            ("`DELETE`", Method::Delete),
            ("`POST`", Method::Post),
            ("`PATCH`", Method::Patch),
            ("any other", Method::Other),
        ];
        let rows = methods.map(|(name, method)| row(name, method.is_idempotent()));
        let table = rows.concat();
        assert!(
            page.contains(&table),
            "docs/guide/retries.md has not\n{table}"
        );
    }

    #[test]
    fn what_a_client_has_begun_to_read_is_not_repeated() {
        let what = Repeatable {
            idempotent: true,
            unsent: false,
            whole: true,
        };
        assert!(!may_repeat(Point::Begun, what, &ALL));
    }

    #[test]
    fn what_was_not_sent_was_not_processed() {
        let unsent = Repeatable {
            idempotent: false,
            unsent: true,
            whole: true,
        };
        assert!(may_repeat(Point::Silent, unsent, &ALL));
        let none = RetryRules {
            connect: false,
            reset: false,
            ..ALL
        };
        assert!(!may_repeat(Point::Silent, unsent, &none));
        assert!(!may_repeat(Point::Connect, unsent, &none));
    }
}
