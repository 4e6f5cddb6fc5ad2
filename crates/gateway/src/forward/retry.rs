//! What may be tried again, by where it failed and what was asked: the rule is the core's. The guide
//! prints it as a table, and a test drives a request through each of its cells.

pub(super) use evenkeel_core::{FailurePoint as Point, Repeatable};

#[cfg(test)]
mod tests {
    use evenkeel_http1::Method;

    use super::*;
    use crate::cluster::RetryRules;

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
        let all = RetryRules {
            timeout: true,
            ..RetryRules::default()
        };
        let is_allowed = |what| match column {
            Column::At(point) => all.allow(*point, what),
            Column::KeptAlive => what.may_be_replaced(),
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
}
