//! `evenkeel strategies`: which there are, and when to use which.

use evenkeel_core::strategy::Descriptor;
use evenkeel_core::strategy::registry::{self, STRATEGIES};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::Format;
use crate::paragraph::wrap;
use crate::table::Table;
use crate::{Outcome, output};

/// List the strategies, or tell all about one
#[derive(Debug, clap::Args)]
pub(crate) struct Strategies {
    /// The strategy, by its name or an alias
    name: Option<String>,

    /// How to print them
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Strategies {
    pub(crate) fn run(self) -> Outcome {
        let one = self.name.as_deref().map(find).transpose()?;
        match (one, self.format) {
            (None, Format::Text) => output::print(&overview()),
            (None, Format::Json) => {
                let all: Vec<Value> = STRATEGIES.iter().map(|one| in_json(one)).collect();
                output::print_json(&all)
            }
            (Some(one), Format::Text) => output::print(&in_full(one)),
            (Some(one), Format::Json) => output::print_json(&in_json(one)),
        }
    }
}

fn find(name: &str) -> Result<&'static Descriptor, Failure> {
    registry::find(name).ok_or_else(|| match registry::build(name, &[]) {
        Err(error) => Failure::usage(error),
        Ok(_) => Failure::usage(format!("there is no strategy {name:?}")),
    })
}

fn overview() -> String {
    let mut table = Table::new(&["strategy", "parameters", "what it does"]);
    for strategy in STRATEGIES {
        let params: Vec<&str> = strategy.params.iter().map(|param| param.name).collect();
        let default = if strategy.name == registry::DEFAULT {
            " (default)"
        } else {
            ""
        };
        table.row([
            format!("{}{default}", strategy.name),
            params.join(", "),
            strategy.summary.to_owned(),
        ]);
    }
    let mut text = format!("{}\nWhen to use which\n", table.render());
    for strategy in STRATEGIES {
        text.push_str(&format!(
            "\n{}\n{}",
            strategy.name,
            wrap(strategy.advice, "  ")
        ));
    }
    text.push_str(
        "\n`evenkeel strategies NAME` tells what its parameters do, and what it costs.\n",
    );
    text
}

fn in_full(strategy: &Descriptor) -> String {
    let mut text = format!(
        "{}: {}\n\n{}\n",
        strategy.name,
        strategy.summary,
        wrap(strategy.advice, "")
    );
    if !strategy.aliases.is_empty() {
        text.push_str(&format!("aliases  {}\n", strategy.aliases.join(", ")));
    }
    text.push_str(&format!(
        "cost     {}\nsource   {}\n",
        strategy.cost, strategy.source
    ));
    if strategy.params.is_empty() {
        text.push_str("\nIt takes no parameters.\n");
        return text;
    }
    text.push_str("\nparameters\n");
    for param in strategy.params {
        let default = match param.default {
            "" => "absent by default".to_owned(),
            default => format!("{default} by default"),
        };
        text.push_str(&format!(
            "  {}: {}, {default}; {}\n",
            param.name, param.kind, param.doc
        ));
    }
    text
}

fn in_json(strategy: &Descriptor) -> Value {
    let params = strategy.params.iter().map(|param| {
        let default = Some(param.default).filter(|default| !default.is_empty());
        json!({
            "name": param.name,
            "values": param.kind.to_string(),
            "default": default,
            "doc": param.doc,
        })
    });
    json!({
        "name": strategy.name,
        "default": strategy.name == registry::DEFAULT,
        "aliases": strategy.aliases,
        "summary": strategy.summary,
        "advice": strategy.advice,
        "cost": strategy.cost,
        "source": strategy.source,
        "params": params.collect::<Vec<Value>>(),
    })
}
