//! What a wrong command line is told.

use clap::error::ErrorKind;

use crate::Outcome;
use crate::exit::{Code, Failure};
use crate::output;

/// Prints what was asked for (help, version), or makes a line out of the mistake.
pub(crate) fn explain(error: &clap::Error) -> Outcome {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            if output::stdout_colours() {
                output::print(&error.render().ansi().to_string())
            } else {
                output::print(&error.render().to_string())
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            output::say(&error.render().to_string());
            Err(Failure::silent(Code::Usage))
        }
        _ => Err(Failure::usage(in_a_line(&error.render().to_string()))),
    }
}

/// The mistake and the tips that follow it, without the recital of the usage.
fn in_a_line(text: &str) -> String {
    let told = text.split("\n\nUsage:").next().unwrap_or(text);
    let told = told
        .split("\n\nFor more information")
        .next()
        .unwrap_or(told);
    let told = told.strip_prefix("error: ").unwrap_or(told);
    let parts: Vec<String> = told
        .split("\n\n")
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::in_a_line;

    #[test]
    fn a_mistake_is_one_line() {
        let text = "error: unexpected argument '--lisen' found\n\n  tip: a similar argument exists: \
                    '--listen'\n\nUsage: evenkeel serve [CONFIG]\n\nFor more information, try '--help'.\n";
        assert_eq!(
            in_a_line(text),
            "unexpected argument '--lisen' found; tip: a similar argument exists: '--listen'"
        );
    }
}
