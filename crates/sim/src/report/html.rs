//! A comparison as one page that needs nothing else: light and dark, and readable when printed.

use std::fmt::Write as _;

use super::chart::{STYLE, escape, short};
use super::figures::{Figures, Imbalance};
use super::pictures::pictures;
use crate::claims::Claim;
use crate::run::Comparison;
use crate::tally::Tally;

const PAGE_STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--line:#d5d9de;--soft:#f4f6f8}\
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ed;--paper:#16191d;--line:#3a4047;--soft:#1f2429}}\
@media print{:root{--ink:#000;--paper:#fff;--line:#bbb;--soft:#fff}figure,table{break-inside:avoid}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}.wide{overflow-x:auto}\
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}th:first-child,td:first-child{text-align:left}\
tr.reference td{font-style:italic}thead{background:var(--soft)}figure{margin:1.5rem 0}figcaption{font-weight:600;margin-bottom:.3rem}\
svg{width:100%;height:auto}.no{color:#d1242f}pre{background:var(--soft);padding:1rem;overflow-x:auto;white-space:pre-wrap}";

/// What is told of a comparison on its page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'p> {
    /// What it is called.
    pub name: &'p str,
    /// What it shows; may be empty.
    pub about: &'p str,
    /// What is expected of it; may be empty.
    pub expected: &'p str,
    /// The text of the scenario; may be empty.
    pub source: &'p str,
    /// What came out.
    pub comparison: &'p Comparison,
    /// What the sources claim.
    pub claims: &'p [Claim],
}

/// A comparison as one page of HTML that needs nothing else.
#[must_use]
pub fn to_html(told: &Page<'_>) -> String {
    let (name, comparison) = (told.name, told.comparison);
    let title = escape(name);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}, simulated</title>\n<style>{PAGE_STYLE}{STYLE}</style>\n<h1>{title}</h1>\n"
    );
    let _ = writeln!(page, "<p>{}</p>", escape(told.about));
    if !told.expected.is_empty() {
        let _ = writeln!(page, "<p><b>Expected.</b> {}</p>", escape(told.expected));
    }
    let _ = writeln!(
        page,
        "<p>Simulated by Evenkeel with seed {}; the same scenario and seed give the same page.</p>",
        comparison.seed
    );
    push_results(&mut page, comparison);
    push_stages(&mut page, comparison);
    push_claims(&mut page, told.claims);
    for picture in pictures(comparison) {
        let title = escape(&picture.title);
        let _ = writeln!(
            page,
            "<figure><figcaption>{title}</figcaption>{}</figure>",
            picture.svg
        );
    }
    push_counts(&mut page, comparison);
    push_happenings(&mut page, comparison);
    if !told.source.is_empty() {
        let _ = writeln!(
            page,
            "<h2>Scenario</h2>\n<pre>{}</pre>",
            escape_lines(told.source)
        );
    }
    page.push_str("</html>\n");
    page
}

fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

fn rows(comparison: &Comparison) -> impl Iterator<Item = (&Tally, &'static str)> {
    let results = comparison.results.iter().map(|tally| (tally, ""));
    let references = comparison.references.iter();
    results.chain(references.map(|tally| (tally, " class=\"reference\"")))
}

fn head(page: &mut String, headings: &[&str]) {
    page.push_str("<div class=\"wide\"><table><thead><tr>");
    for heading in headings {
        let _ = write!(page, "<th>{}</th>", escape(heading));
    }
    page.push_str("</tr></thead><tbody>\n");
}

fn row(page: &mut String, class: &str, cells: &[String]) {
    let _ = write!(page, "<tr{class}>");
    for cell in cells {
        let _ = write!(page, "<td>{}</td>", escape(cell));
    }
    page.push_str("</tr>\n");
}

const END: &str = "</tbody></table></div>\n";

fn percent(share: f64) -> String {
    format!("{} %", short(share * 100.0))
}

fn push_results(page: &mut String, comparison: &Comparison) {
    page.push_str("<h2>Results</h2>\n");
    head(
        page,
        &[
            "strategy",
            "requests",
            "mean ms",
            "p50",
            "p90",
            "p99",
            "p99.9",
            "max",
            "failed",
            "shed",
            "retries",
            "answers/s",
        ],
    );
    for (tally, class) in rows(comparison) {
        let figures = Figures::of(&tally.counts);
        let mut cells = vec![tally.label.clone(), figures.requests.to_string()];
        let ms = [
            figures.mean,
            figures.p50,
            figures.p90,
            figures.p99,
            figures.p999,
            figures.max,
        ];
        cells.extend(ms.map(short));
        cells.extend([percent(figures.failure_rate), percent(figures.shed_rate)]);
        cells.extend([tally.retries.to_string(), short(tally.throughput())]);
        row(page, class, &cells);
    }
    page.push_str(END);
}

fn push_stages(page: &mut String, comparison: &Comparison) {
    let Some(first) = comparison
        .results
        .first()
        .filter(|first| !first.stages.is_empty())
    else {
        return;
    };
    for (index, stage) in first.stages.iter().enumerate() {
        let _ = writeln!(page, "<h3>{} requests a second</h3>", short(stage.rate));
        head(
            page,
            &[
                "strategy",
                "requests",
                "p50 ms",
                "p90",
                "p99",
                "p99.9",
                "failed",
                "shed",
                "count stddev",
            ],
        );
        for (tally, class) in rows(comparison) {
            let Some(stage) = tally.stages.get(index) else {
                continue;
            };
            let figures = Figures::of(&stage.counts);
            let mut cells = vec![tally.label.clone(), figures.requests.to_string()];
            cells.extend([figures.p50, figures.p90, figures.p99, figures.p999].map(short));
            cells.extend([percent(figures.failure_rate), percent(figures.shed_rate)]);
            cells.push(short(stage.count_stddev()));
            row(page, class, &cells);
        }
        page.push_str(END);
    }
}

fn push_claims(page: &mut String, claims: &[Claim]) {
    if claims.is_empty() {
        return;
    }
    page.push_str("<h2>What the sources claim, and what holds here</h2>\n");
    head(page, &["claim", "the sources", "here", "holds"]);
    for claim in claims {
        let verdict = claim.verdict().to_owned();
        let (what, theirs, ours) = (claim.what.clone(), claim.theirs.clone(), claim.ours.clone());
        row(page, "", &[what, theirs, ours, verdict]);
    }
    page.push_str(END);
}

fn push_counts(page: &mut String, comparison: &Comparison) {
    page.push_str("<h2>Spread over endpoints</h2>\n");
    head(
        page,
        &[
            "strategy",
            "count stddev",
            "max/mean",
            "chi-square",
            "queue",
            "queue p99",
            "busiest",
        ],
    );
    for (tally, class) in rows(comparison) {
        let imbalance = Imbalance::of(tally);
        let (mean, p99) = tally.queue();
        let busiest = tally
            .endpoints
            .iter()
            .filter_map(|one| one.utilization)
            .fold(0.0, f64::max);
        row(
            page,
            class,
            &[
                tally.label.clone(),
                short(imbalance.count_stddev),
                short(imbalance.max_over_mean),
                short(imbalance.chi_square),
                short(mean),
                p99.to_string(),
                percent(busiest),
            ],
        );
    }
    page.push_str(END);
}

fn push_happenings(page: &mut String, comparison: &Comparison) {
    for tally in &comparison.results {
        if tally.happenings.is_empty() {
            continue;
        }
        let label = escape(&tally.label);
        let _ = writeln!(
            page,
            "<details><summary>What happened under {label}</summary>"
        );
        head(page, &["s", "what"]);
        for happening in tally.happenings.iter().take(500) {
            let at = short(happening.at.0 as f64 / 1e9);
            row(page, "", &[at, happening.what.clone()]);
        }
        page.push_str(END);
        page.push_str("</details>\n");
    }
}
