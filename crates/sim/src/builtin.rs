//! The scenarios that are built in, a file for each.

use evenkeel_config::{Environment, Scenario, parse_scenario};

/// A scenario that is built in.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn {
            name: $name,
            text: include_str!(concat!("../scenarios/", $name, ".toml")),
        }),*]
    };
}

/// The scenarios that are built in, in the order in which they are taught.
pub const BUILT_IN: &[BuiltIn] = built_in![
    "million-requests",
    "six-backends",
    "gray-failure",
    "flapping",
    "cold-restart",
    "flash-sale",
    "cache-scale-out",
    "registry-delay",
    "partition",
    "thread-exhaustion",
    "many-clients",
    "black-hole",
    "antagonist",
    "mixed-lengths",
    "prequal-ramp",
    "two-choices",
    "dynos",
];

impl BuiltIn {
    /// The one of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        BUILT_IN.iter().find(|scenario| scenario.name == name)
    }

    /// What the file says.
    ///
    /// # Panics
    ///
    /// Never: a test holds that all of them are in order.
    #[must_use]
    pub fn scenario(&self) -> Scenario {
        let (scenario, report) = parse_scenario(self.name, self.text, &Environment::empty());
        scenario.unwrap_or_else(|| panic!("a test holds that it is in order: {report}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_in_order_and_say_what_they_show() {
        for built_in in BUILT_IN {
            let (scenario, report) =
                parse_scenario(built_in.name, built_in.text, &Environment::empty());
            assert_eq!(report.to_string(), "", "{}", built_in.name);
            let scenario = scenario.expect("no mistakes");
            assert!(!scenario.about.is_empty(), "{}", built_in.name);
            assert!(!scenario.expected.is_empty(), "{}", built_in.name);
        }
    }
}
