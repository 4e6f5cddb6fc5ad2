//! A08: weights that are no whole numbers are refused by name, and never become 0 in silence.

use super::support::Case;

/// Endpoints, each with the weight in question.
#[rustfmt::skip]
pub(crate) const WEIGHTS: &[Case] = &[
    ("{ id = \"b\", address = \"127.0.0.1:1\", weight = 0.005 }", &[
        "5:60 error: weight 0.005 of endpoint \"b\" in cluster \"web\" is not a whole number from 0 to 65535",
    ]),
    ("{ id = \"b\", address = \"127.0.0.1:1\", weight = 0.8 }", &[
        "5:60 error: weight 0.8 of endpoint \"b\" in cluster \"web\" is not a whole number from 0 to 65535",
    ]),
    ("{ address = \"127.0.0.1:1\", weight = 1e3 }", &[
        "5:50 error: weight 1e3 of endpoint \"127.0.0.1:1\" in cluster \"web\" is not a whole number from 0 to 65535",
    ]),
    ("{ address = \"127.0.0.1:1\", weight = -1 }", &[
        "5:50 error: weight -1 of endpoint \"127.0.0.1:1\" in cluster \"web\" is not a whole number from 0 to 65535",
    ]),
    ("{ address = \"127.0.0.1:1\", weight = \"2\" }", &[
        "5:50 error: weight \"2\" of endpoint \"127.0.0.1:1\" in cluster \"web\" is not a whole number from 0 to 65535",
    ]),
    ("{ address = \"127.0.0.1:1\", weight = 65536 }", &[
        "5:50 error: weight 65536 of endpoint \"127.0.0.1:1\" in cluster \"web\" is not a whole number from 0 to 65535",
    ]),
    ("{ address = \"127.0.0.1:1\", weight = 0x10000 }", &[
        "5:50 error: weight 0x10000 of endpoint \"127.0.0.1:1\" in cluster \"web\" is not a whole number from 0 to 65535",
    ]),
    ("{ address = \"127.0.0.1:1\", weight = 0 }", &[
        "5:1 warning: all endpoints of cluster.web have weight 0: its requests get 503",
    ]),
];
