//! What stands in and beside a listener.

use super::support::Case;

/// What stands behind the address of a listener, on line 3.
#[rustfmt::skip]
pub(crate) const LISTENER: &[Case] = &[
    ("address2 = 1", &[
        "3:1 error: unknown key \"address2\" in listener, did you mean \"address\"?",
    ]),
    ("adress = \"x\"", &[
        "3:1 error: unknown key \"adress\" in listener, did you mean \"address\"?",
    ]),
    ("cluster = \"wbe\"\n[cluster.web]", &[
        "3:11 error: there is no cluster \"wbe\", did you mean \"web\"?",
        "4:10 warning: cluster.web has no endpoints: its requests get 503",
    ]),
    ("cluster = \"web\"", &[
        "3:11 error: there is no cluster \"web\"",
    ]),
    ("cluster = 7", &[
        "3:11 error: listener.cluster = 7 is not the name of a cluster",
    ]),
    ("name = \"\"", &[
        "3:8 error: listener.name: the name \"\" is empty",
    ]),
    ("protocol = \"tcp\"", &[
        "1:1 error: a TCP listener without a cluster leads nowhere",
    ]),
    ("protocol = \"tcp\"\nroute = [{ sni = \"a.b\", path = \"/\", cluster = \"web\" }]\n[cluster.web]\nendpoints = [\"a:1\"]", &[
        "4:25 error: listener.route.path has no meaning on a TCP listener",
    ]),
    ("route = [{ sni = \"a.b\", cluster = \"web\" }]\n[cluster.web]\nendpoints = [\"a:1\"]", &[
        "3:12 error: listener.route.sni is for TCP listeners",
    ]),
    ("protocol = \"htp\"", &[
        "3:12 error: listener.protocol = \"htp\" is not known, did you mean \"http\"?",
    ]),
    ("proxy_protocol = true", &[]),
    ("proxy_protocol = \"v2\"", &[
        "3:18 error: listener.proxy_protocol = \"v2\" is not true or false",
    ]),
    ("proxy_protocol = false", &[]),
    ("tls = []", &[]),
    ("tls = false", &[]),
    ("tls = { certificate = \"a\" }", &[
        "3:7 error: listener.tls is not a list of tables",
    ]),
    ("tls = [{ certificate = \"a.pem\" }, { key = \"a.key\", client_ca = \"\" }]", &[
        "3:8 error: listener.tls has no key",
        "3:24 error: the file \"a.pem\" of listener.tls.certificate cannot be used: entity not found",
        "3:35 error: listener.tls has no certificate",
        "3:43 error: the file \"a.key\" of listener.tls.key cannot be used: entity not found",
        "3:64 error: the file \"\" of listener.tls.client_ca cannot be used: entity not found",
    ]),
    ("route = [{}]", &[
        "3:10 error: the route leads nowhere",
    ]),
    ("trusted_proxies = \"10.0.0.0/8\"", &[
        "3:19 error: listener.trusted_proxies = \"10.0.0.0/8\" is not a list of networks, like [\"10.0.0.0/8\"]",
    ]),
    ("trusted_proxies = [\"10.0.0.1/8\", 7, \"x\"]", &[
        "3:20 error: listener.trusted_proxies: \"10.0.0.1/8\" has bits set behind its prefix",
        "3:34 error: listener.trusted_proxies: 7 is not a network, like \"10.0.0.0/8\"",
        "3:37 error: listener.trusted_proxies: \"x\" is not a network",
    ]),
    ("limits = 5", &[
        "3:10 error: listener.limits = 5 is not a table",
    ]),
    ("limits = false", &[
        "3:10 error: listener.limits = false is not a table",
    ]),
    ("limits = { connections = 0, header_bytes = 65536, headers = 257, body = \"big\", header_timeout = \"0s\", idle_timeout = 60, streams = 0 }", &[
        "3:26 error: listener.limits.connections = 0 is not a whole number from 1 to 1000000",
        "3:44 error: listener.limits.header_bytes = 65536 has no unit",
        "3:61 error: listener.limits.headers = 257 is not a whole number from 1 to 256",
        "3:73 error: listener.limits.body: \"big\" is not a size",
        "3:97 error: listener.limits.header_timeout = \"0s\" is not a duration above zero, like \"250ms\", \"2s\" or \"1m\"",
        "3:118 error: listener.limits.idle_timeout = 60 has no unit",
        "3:132 error: listener.limits.streams = 0 is not a whole number from 1 to 65536",
    ]),
    ("limits = { header_bytes = \"1B\", headers = \"100\", body = \"64KB\", header_timeout = \"10\", idle_timeout = \"1d\" }", &[
        "3:27 error: listener.limits.header_bytes = \"1B\" is not a size from \"512B\" to \"1MiB\"",
        "3:43 error: listener.limits.headers = \"100\" is not a whole number from 1 to 256",
        "3:57 error: listener.limits.body: \"64KB\" has an unknown unit",
        "3:82 error: listener.limits.header_timeout: \"10\" has no unit",
        "3:103 error: listener.limits.idle_timeout: \"1d\" is not a duration",
    ]),
    ("[listener.limits]\nheaders = 1\ncluster = \"web\"", &[
        "5:1 error: unknown key \"cluster\" in listener.limits, it is a key of listener",
    ]),
    ("[[listener]]\naddress = \"127.0.0.1:8080\"", &[
        "4:11 error: two listeners have the address 127.0.0.1:8080, the first on line 2",
    ]),
    ("[[listener]]\naddress = \"0.0.0.0:8080\"", &[
        "4:11 error: the address 0.0.0.0:8080 collides with 127.0.0.1:8080 on line 2",
    ]),
    ("[[listener]]\naddress = \"[::]:8080\"\n[[listener]]\naddress = \"[::1]:8081\"", &[
        "4:11 error: the address [::]:8080 collides with 127.0.0.1:8080 on line 2",
    ]),
    ("[[listener]]\naddress = \"[::1]:8080\"\n[[listener]]\naddress = \"0.0.0.0:8081\"\n[[listener]]\naddress = \"[::1]:8081\"", &[]),
    ("[[listener]]\naddress = \"0.0.0.0:9900\"\n[admin]\naddress = \"127.0.0.1:9900\"", &[
        "4:11 error: the listener on 0.0.0.0:9900 collides with the admin API on 127.0.0.1:9900",
    ]),
    ("name = \"a\"\n[[listener]]\naddress = \"127.0.0.1:8081\"\nname = \"a\"", &[
        "6:8 error: two listeners have the name \"a\", the first on line 3",
    ]),
    ("[listener.route]\npath = \"/\"", &[
        "3:1 error: listener.route is not a list of tables",
    ]),
    ("[[listener]]\naddress = \"unix:/run/x\"\n[[listener]]\naddress = \"unix:/run/x\"", &[
        "6:11 error: two listeners have the address unix:/run/x, the first on line 4",
    ]),
    ("trusted_proxies = [\"unix:\", \"unix\"]", &[
        "3:29 error: listener.trusted_proxies: \"unix\" is not a network",
    ]),
    ("[admin]\naddress = \"unix:/run/x\"", &[
        "4:11 error: admin.address: the address \"unix:/run/x\" is a unix socket, which it cannot be here",
    ]),
    ("[admin]\naddress = \"0.0.0.0:9900\"", &[
        "4:11 error: the admin API on 0.0.0.0:9900 needs a token: the address is not loopback",
    ]),
    ("[admin]\naddress = \"127.0.0.1:8080\"", &[
        "2:11 error: the listener has the address 127.0.0.1:8080 of the admin API",
    ]),
    ("[admin]\ntoken_file = \"nothere\"", &[
        "4:14 error: the token file \"nothere\" cannot be used: entity not found",
    ]),
    ("[admin]\nadress = \"x\"", &[
        "4:1 error: unknown key \"adress\" in admin, did you mean \"address\"?",
    ]),
    ("[log]\nlevel = \"inf\"\nformat = 1\naccess = {}\ndecision = false", &[
        "4:9 error: log.level = \"inf\" is not known, did you mean \"info\"?",
        "5:10 error: log.format = 1 is not \"text\" or \"json\"",
    ]),
    ("[log]\naccess = { path = \"\", format = \"xml\", sample = 2 }", &[
        "4:19 error: log.access.path: \"\" is not the path of a file",
        "4:32 error: log.access.format = \"xml\" is not known",
        "4:48 error: log.access.sample = 2 is not a number from 0 to 1",
    ]),
    ("[log.decision]\npath = \"\"\nsample = 2\nkeep = -1\nheader = \"a b\"", &[
        "4:8 error: log.decision.path: \"\" is not the path of a file",
        "5:10 error: log.decision.sample = 2 is not a number from 0 to 1",
        "6:8 error: log.decision.keep = -1 is not a whole number from 0 to 1000000",
        "7:10 error: log.decision.header: \"a b\" is not the name of a field",
    ]),
    ("[runtime]\nworkers = 0", &[
        "4:11 error: runtime.workers = 0 is not \"auto\" or a whole number from 1 to 1024",
    ]),
    ("[runtime]\nworkers = \"four\"\ndrain_timeout = \"-1s\"\ninstance = \" \"\nzone = 7\nstate_dir = false", &[
        "4:11 error: runtime.workers = \"four\" is not \"auto\" or a whole number from 1 to 1024",
        "5:17 error: runtime.drain_timeout: \"-1s\" is negative",
        "6:12 error: runtime.instance: the name \" \" has space around it",
        "7:8 error: runtime.zone = 7 is not a name in quotes",
    ]),
    ("[fleet]\netcd = []", &[
        "4:8 error: fleet.etcd is empty",
    ]),
    ("[fleet]\nprefix = \"\"\nshare = [\"admin\", \"health\", \"x\"]", &[
        "3:1 error: fleet has no etcd",
        "4:10 error: fleet.prefix: \"\" has all keys",
        "5:29 error: fleet.share: \"x\" is not known",
    ]),
    ("fleet = false\n[[notify]]\nurl=\"x\"", &[
        "3:1 error: unknown key \"fleet\" in listener",
        "5:5 error: notify.url: the URL \"x\" does not begin with \"http://\"",
    ]),
    ("[cluter.web]", &[
        "3:2 error: unknown key \"cluter\" at the top of the file, did you mean \"cluster\"?",
    ]),
    ("clusters = 1", &[
        "3:1 error: unknown key \"clusters\" in listener, did you mean \"cluster\"?",
    ]),
    ("[cluster]\nendpoints = [\"127.0.0.1:1\"]", &[
        "4:1 error: cluster.endpoints is not a table",
    ]),
    ("[[cluster]]\nname=\"x\"", &[
        "3:1 error: cluster is not a table of tables by name",
    ]),
    ("cluster = \"${NOPE}\"", &[
        "3:12 error: the environment variable NOPE is not set",
    ]),
    ("name = \"a${\"", &[
        "3:10 error: \"${\" names no environment variable",
    ]),
    ("[cluster.\"\"]\nendpoints=[]", &[
        "3:10 error: cluster: the name \"\" is empty",
        "4:1 warning: cluster. has no endpoints: its requests get 503",
    ]),
];
