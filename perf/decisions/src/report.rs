//! Rows, and how they are printed.

use crate::contender::Case;
use serde::Serialize;

/// One measured figure.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) system: &'static str,
    pub(crate) strategy: String,
    pub(crate) endpoints: usize,
    pub(crate) threads: usize,
    pub(crate) ns: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p99_ns: Option<f64>,
}

impl Row {
    pub(crate) fn new(system: &'static str, strategy: &str, case: Case, ns: f64) -> Self {
        let Case { endpoints, threads } = case;
        let ns = (ns * 10.0).round() / 10.0;
        Self {
            system,
            strategy: strategy.to_owned(),
            endpoints,
            threads,
            ns,
            p99_ns: None,
        }
    }

    fn cells(&self) -> [String; 6] {
        let p99 = self.p99_ns.map(|ns| format!("{ns:.0}")).unwrap_or_default();
        let (endpoints, threads) = (self.endpoints.to_string(), self.threads.to_string());
        let ns = format!("{:.1}", self.ns);
        [
            self.system.to_owned(),
            self.strategy.clone(),
            endpoints,
            threads,
            ns,
            p99,
        ]
    }
}

/// The middle value; of an even number, the mean of the two in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// Prints an aligned table: words to the left, numbers to the right.
pub(crate) fn print_text(rows: &[Row]) {
    let head = ["system", "strategy", "endpoints", "threads", "ns", "p99_ns"].map(str::to_owned);
    let table: Vec<_> = std::iter::once(head)
        .chain(rows.iter().map(Row::cells))
        .collect();
    let width = |column: usize| {
        table
            .iter()
            .map(|r| r[column].len())
            .max()
            .unwrap_or_default()
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    for [system, strategy, endpoints, threads, ns, p99] in &table {
        let [a, b, c, d, e, f] = widths;
        let words = format!("{system:a$}  {strategy:b$}");
        let line = format!("{words}  {endpoints:>c$}  {threads:>d$}  {ns:>e$}  {p99:>f$}");
        println!("{}", line.trim_end());
    }
}

/// Prints one JSON array.
///
/// # Errors
///
/// When a figure is no number.
pub(crate) fn print_json(rows: &[Row]) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string_pretty(rows)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_one_bad_round() {
        assert_eq!(median(vec![3.0, 900.0, 1.0]), 3.0);
        assert_eq!(median(vec![4.0, 2.0]), 3.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn rows_carry_p99_only_where_it_was_measured() {
        let case = Case {
            endpoints: 6,
            threads: 1,
        };
        let row = Row::new("evenkeel", "maglev", case, 12.34);
        let json = serde_json::to_string(&row).expect("a row can be written");
        assert_eq!(
            json,
            r#"{"system":"evenkeel","strategy":"maglev","endpoints":6,"threads":1,"ns":12.3}"#
        );
    }
}
