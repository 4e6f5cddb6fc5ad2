//! Whole files.

use super::support::Case;

/// Whole files.
#[rustfmt::skip]
pub(crate) const WHOLE: &[Case] = &[
    ("", &[
        "1:1 error: there is no listener",
    ]),
    ("# nothing\n", &[
        "1:1 error: there is no listener",
    ]),
    ("\u{feff}[[listener]]\naddress = 1\n", &[
        "2:11 error: listener.address = 1 is not an address and a port, like \"127.0.0.1:8080\", or \"unix:/run/evenkeel.sock\"",
    ]),
    ("listener = 1\n", &[
        "1:12 error: listener is not a list of tables",
    ]),
    ("[listener]\naddress = \"127.0.0.1:1\"\n", &[
        "1:1 error: listener is not a list of tables",
    ]),
    ("[[listener]]\n", &[
        "1:1 error: the listener has no address",
    ]),
    ("[[listener]]\naddress = \"0.0.0.0:80\"\ncluster = \"c\"\n[cluster.c]\nendpoints = [\"10.0.0.1:80\", { id = \"me\", address = \"127.0.0.1:80\" }]\n", &[
        "2:11 warning: the listener on 0.0.0.0:80 is endpoint \"me\" of this gateway: requests may go round",
    ]),
    ("[[listener]]\naddress = \"127.0.0.1:1\"\naddress = \"127.0.0.1:2\"\n", &[
        "3:1 error: address is given twice",
    ]),
    ("[[listener]\naddress = \"127.0.0.1:1\"\n", &[
        "1:12 error: broken TOML: unclosed array table, expected `]`",
    ]),
    ("[[listener]]\naddress = 127.0.0.1:1\n", &[
        "2:16 error: broken TOML: 127.0.0.1:1 is not a value",
    ]),
    ("[[listener]]\naddress =\n", &[
        "2:10 error: broken TOML: the value is missing",
    ]),
    ("[[listener]]\naddress = \"127.0.0.1:1\n", &[
        "2:23 error: broken TOML: invalid basic string, expected `\"`",
    ]),
    ("[[listener]]\naddress 5\n", &[
        "2:9 error: broken TOML: key with no value, expected `=`",
    ]),
    ("\0\u{1}", &[
        "1:3 error: broken TOML: key with no value, expected `=`",
    ]),
    ("[[listener]]\naddress = \"localhost:8080\"\n[[listener]]\naddress = \"127.0.0.1:70000\"\n[[listener]]\naddress=\"::1:80\"\n[[listener]]\naddress=\"unix:run/x\"\n", &[
        "2:11 error: listener.address: the address \"localhost:8080\" is not an IP address and a port",
        "4:11 error: listener.address: port 70000 of the address \"127.0.0.1:70000\" is not a number from 0 to 65535",
        "6:9 error: listener.address: the address \"::1:80\" is IPv6 without brackets",
        "8:9 error: listener.address: the unix socket \"run/x\" has no absolute path",
    ]),
    ("[[listener]]\naddress = \"127.0.0.1:8080\"\ncluster = \"web\"\n[cluster.web]\nendpoints = \"127.0.0.1:1\"\n", &[
        "5:13 error: cluster.web.endpoints = \"127.0.0.1:1\" is not a list of addresses or tables, like [\"127.0.0.1:9001\"]",
    ]),
    ("[[listener]]\naddress = \"127.0.0.1:8080\"\ncluster = \"web\"\n[cluster.web]\n", &[
        "4:10 warning: cluster.web has no endpoints: its requests get 503",
    ]),
];
