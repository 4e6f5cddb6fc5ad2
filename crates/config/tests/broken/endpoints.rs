//! What stands in a list of endpoints.

use super::support::Case;

/// What stands in the list of endpoints, on line 5 behind 13 characters.
#[rustfmt::skip]
pub(crate) const ENDPOINTS: &[Case] = &[
    ("", &[
        "5:1 warning: cluster.web has no endpoints: its requests get 503",
    ]),
    ("1", &[
        "5:14 error: cluster.web.endpoints: 1 is not an address or a table, like { address = \"127.0.0.1:9001\" }",
    ]),
    ("\"127.0.0.1:9001\", \"127.0.0.1:9001\"", &[
        "5:32 error: endpoint \"127.0.0.1:9001\" is in cluster \"web\" twice, first on line 5",
    ]),
    ("{ id = \"a\", address = \"127.0.0.1:1\" },\n  { id = \"a\", address = \"127.0.0.1:2\" }", &[
        "6:10 error: endpoint \"a\" is in cluster \"web\" twice, first on line 5",
    ]),
    ("{ weight = 1 }", &[
        "5:14 error: endpoint 1 in cluster \"web\" has no address",
    ]),
    ("{ id = \"x\" }", &[
        "5:14 error: endpoint \"x\" in cluster \"web\" has no address",
    ]),
    ("{ address = \"127.0.0.1:0\" }", &[
        "5:26 error: address of endpoint \"127.0.0.1:0\" in cluster \"web\": port 0 of the address \"127.0.0.1:0\" is not a number from 1 to 65535",
    ]),
    ("\"127.0.0.1:70000\"", &[
        "5:14 error: cluster.web.endpoints: port 70000 of the address \"127.0.0.1:70000\" is not a number from 1 to 65535",
    ]),
    ("\"127.0.0.1\"", &[
        "5:14 error: cluster.web.endpoints: the address \"127.0.0.1\" has no port",
    ]),
    ("\"unix:/run/a.sock\", { id = \"b\", address = \"unix:b.sock\" }", &[
        "5:56 error: address of endpoint \"b\" in cluster \"web\": the unix socket \"b.sock\" has no absolute path",
    ]),
    ("\"::1:9001\"", &[
        "5:14 error: cluster.web.endpoints: the address \"::1:9001\" is IPv6 without brackets",
    ]),
    ("\"[fe80::1%eth0]:80\"", &[
        "5:14 error: cluster.web.endpoints: the address \"[fe80::1%eth0]:80\" has a zone id, which is not supported",
    ]),
    ("\"http://127.0.0.1:80\"", &[
        "5:14 error: cluster.web.endpoints: the address \"http://127.0.0.1:80\" has a scheme",
    ]),
    ("{ address = \"a:1\", tier = 256, capacity = 0, zone = 1, labels = { v = 2 }, agent = \"x\", wieght = 3 }", &[
        "5:40 error: tier = 256 of endpoint \"a:1\" in cluster \"web\" is not a whole number from 0 to 255",
        "5:56 error: capacity = 0 of endpoint \"a:1\" in cluster \"web\" is not a whole number from 1 to 1000000",
        "5:66 error: zone = 1 of endpoint \"a:1\" in cluster \"web\" is not a name in quotes",
        "5:84 error: label \"v\" = 2 of endpoint \"a:1\" in cluster \"web\" is not a text",
        "5:97 error: agent of endpoint \"a:1\" in cluster \"web\": the address \"x\" has no port",
        "5:102 error: unknown key \"wieght\" in endpoint \"a:1\" in cluster \"web\", did you mean \"weight\"?",
    ]),
    ("{ address = \"a:1\", labels = \"x\" }", &[
        "5:42 error: labels = \"x\" of endpoint \"a:1\" in cluster \"web\" is not a table of texts, like { version = \"2\" }",
    ]),
    ("\"${HOST}:80\"", &[
        "5:15 error: the environment variable HOST is not set",
    ]),
    ("\"\\u0000\"", &[
        "5:14 error: cluster.web.endpoints: the address \"\\0\" has no port",
    ]),
    ("\"a b:80\"", &[
        "5:14 error: cluster.web.endpoints: \"a b\" in the address \"a b:80\" is not a host name",
    ]),
];
