//! A comparison as one page that needs nothing else: light and dark, and readable when printed.

use std::fmt::Write as _;

use super::chart::{STYLE, escape, short};
use super::pictures::pictures;
use super::tables::{ResultTable, latency_table, spread_table, stage_tables};
use crate::claims::Claim;
use crate::run::Comparison;

const PAGE_STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--line:#d5d9de;--soft:#f4f6f8}\
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ed;--paper:#16191d;--line:#3a4047;--soft:#1f2429}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:72rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}.wide{overflow-x:auto}\
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}th:first-child,td:first-child{text-align:left}\
tr.reference td{font-style:italic}thead{background:var(--soft)}figure{margin:1.5rem 0}figcaption{font-weight:600;margin-bottom:.3rem}\
svg{width:100%;height:auto}.no{color:#d1242f}pre{background:var(--soft);padding:1rem;overflow-x:auto;white-space:pre-wrap}\
@media print{:root{--ink:#000;--paper:#fff;--line:#bbb;--soft:#fff}figure,table{break-inside:avoid}body{font-size:8pt;max-width:none;margin:0}.wide{overflow:visible}th,td{padding:.1rem .35rem}}";

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
    page.push_str("<h2>Results</h2>\n");
    push_table(&mut page, &latency_table(comparison));
    for stage in stage_tables(comparison) {
        let _ = writeln!(page, "<h3>{}</h3>", escape(&stage.title));
        push_table(&mut page, &stage);
    }
    push_claims(&mut page, told.claims);
    for picture in pictures(comparison) {
        let title = escape(&picture.title);
        let _ = writeln!(
            page,
            "<figure><figcaption>{title}</figcaption>{}</figure>",
            picture.svg
        );
    }
    page.push_str("<h2>Spread over endpoints</h2>\n");
    push_table(&mut page, &spread_table(comparison));
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

fn push_table(page: &mut String, table: &ResultTable) {
    let headings: Vec<&str> = table.headings.iter().map(String::as_str).collect();
    head(page, &headings);
    for one in &table.rows {
        let class = match one.is_reference {
            true => " class=\"reference\"",
            false => "",
        };
        row(page, class, &one.cells);
    }
    page.push_str(END);
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
