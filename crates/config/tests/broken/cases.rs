//! The table of broken files.

use super::Case;

/// Whole files.
#[rustfmt::skip]
pub(super) const WHOLE: &[Case] = &[
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

/// What stands behind the address of a listener, on line 3.
#[rustfmt::skip]
pub(super) const LISTENER: &[Case] = &[
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

/// What stands behind the endpoints of a cluster, on line 6.
#[rustfmt::skip]
pub(super) const CLUSTER: &[Case] = &[
    ("[cluster.web]\nendpoints = [\"127.0.0.1:9001\"]", &[
        "6:10 error: [cluster.web] is given twice",
        "7:1 error: endpoints is given twice",
    ]),
    ("[cluster.web.ejection]\nconsecutive_failures = 3", &[
        "6:14 error: unknown key \"ejection\" in cluster.web, did you mean \"outlier\"?",
    ]),
    ("strategy = \"least_requst\"", &[
        "6:12 error: cluster.web.strategy: there is no strategy \"least_requst\", did you mean \"least_request\"?",
    ]),
    ("strategy = 5", &[
        "6:12 error: cluster.web.strategy = 5 is not a strategy, like \"least_request\" or { name = \"least_request\" }",
    ]),
    ("strategy = { name = \"least_request\", choices = 11, scn = 4, scan = -1 }", &[
        "6:48 error: cluster.web.strategy: choices = 11 is not a whole number from 2 to 10",
        "6:58 error: cluster.web.strategy: least_request has no parameter \"scn\", did you mean \"scan\"?",
        "6:68 error: cluster.web.strategy: scan = -1 is not a whole number from 0 to 64",
    ]),
    ("strategy = { choices = 2 }", &[
        "6:12 error: cluster.web.strategy has no name",
    ]),
    ("strategy = { name = 5 }", &[
        "6:21 error: cluster.web.strategy.name = 5 is not a strategy, like \"least_request\" or { name = \"least_request\" }",
    ]),
    ("strategy = { name = \"least_request\", choices = [1] }", &[
        "6:48 error: cluster.web.strategy: choices = [1] is not a whole number from 2 to 10",
    ]),
    ("strategy = {name = \"weighted_round_robin\", smooth = \"no\"}", &[
        "6:53 error: cluster.web.strategy: smooth = \"no\" is not true or false",
    ]),
    ("protocol = \"http2\"", &[]),
    ("protocol = \"http3\"", &[
        "6:12 error: cluster.web.protocol = \"http3\" is not known, did you mean \"http1\"?",
    ]),
    ("protocol = \"http2\"\nproxy_protocol = \"v2\"", &[
        "7:1 error: cluster.web.proxy_protocol does not go with protocol = \"http2\"",
    ]),
    ("protocol = \"http2\"\nhealth = {}", &[]),
    ("protocol = \"http2\"\nhealth = { type = \"tcp\" }", &[]),
    ("tls = false", &[]),
    ("tls = {}", &[]),
    ("tls = { server_name = \"*.a\", ca = \"ca.pem\", key = \"k.pem\" }", &[
        "6:7 error: cluster.web.tls has no certificate",
        "6:23 error: cluster.web.tls.server_name: \"*.a\" is a pattern, not one name",
        "6:35 error: the file \"ca.pem\" of cluster.web.tls.ca cannot be used: entity not found",
        "6:51 error: the file \"k.pem\" of cluster.web.tls.key cannot be used: entity not found",
    ]),
    ("proxy_protocol = \"v1\"", &[]),
    ("proxy_protocol = false", &[]),
    ("proxy_protocol = true", &[
        "6:18 error: cluster.web.proxy_protocol = true is not \"v1\" or \"v2\"",
    ]),
    ("proxy_protocol = \"v3\"", &[
        "6:18 error: cluster.web.proxy_protocol = \"v3\" is not known",
    ]),
    ("retrys = 1", &[
        "6:1 error: unknown key \"retrys\" in cluster.web, did you mean \"retry\"?",
    ]),
    ("hash = {}", &[
        "6:1 warning: cluster.web.hash has no effect under least_request",
    ]),
    ("strategy = \"maglev\"\n[cluster.web.hash]\nkey = [\"header:x-user\", \"cookie:s\", \"query:q\", \"path\", \"source_ip\"]\nmissing = \"error\"\nbounded_load = 2", &[]),
    ("strategy = \"maglev\"\n[cluster.web.hash]\nkey = \"path\"\nmissing = \"none\"\nbounded_load = 1", &[
        "8:7 error: cluster.web.hash.key = \"path\" is not a list of sources, like [\"header:x-user\", \"source_ip\"]",
        "9:11 error: cluster.web.hash.missing = \"none\" is not known",
        "10:16 error: cluster.web.hash.bounded_load = 1 is not a number from 1.01 to 100",
    ]),
    ("strategy = \"ring_hash\"\nhash = { key = [\"host\", \"header:\", 5, \"cookie:a b\"] }", &[
        "7:17 error: cluster.web.hash.key: \"host\" is not where a key can come from",
        "7:25 error: cluster.web.hash.key: \"\" is not the name of a field",
        "7:36 error: cluster.web.hash.key: 5 is not header:NAME, cookie:NAME, query:NAME, path or source_ip",
        "7:39 error: cluster.web.hash.key: \"cookie:a b\" does not name a cookie",
    ]),
    ("strategy = \"rendezvous\"\nhash = { key = [] }", &[
        "7:16 error: cluster.web.hash.key: there are 0 sources",
    ]),
    ("strategy = { name = \"maglev\", table_size = 1000 }", &[
        "6:44 error: cluster.web.strategy: table_size = 1000 is not a prime number from 2 to 5000011",
    ]),
    ("strategy = { name = \"peak_ewma\", decay = \"1ms\", tie = 2 }", &[
        "6:42 error: cluster.web.strategy: decay = \"1ms\" is not a duration from \"100ms\" to \"600s\"",
        "6:55 error: cluster.web.strategy: tie = 2 is not a number from 0 to 0.9",
    ]),
    ("subset = { size = 0 }", &[
        "6:19 error: cluster.web.subset.size = 0 is not a whole number from 1 to 65535",
    ]),
    ("subset = false", &[]),
    ("subset = { method = \"rocksteady\" }", &[
        "6:21 error: cluster.web.subset.method = \"rocksteady\" is not known, did you mean \"rocksteadier\"?",
    ]),
    ("subset = { method = \"rocksteadier\" }", &[
        "6:1 warning: cluster.web.subset.method = \"rocksteadier\" needs to know the other gateways: without [fleet] it is \"rendezvous\"",
    ]),
    ("subset = { method = \"deterministic_aperture\" }\n[fleet]\netcd = [\"http://127.0.0.1:2379\"]", &[]),
    ("health = { path = \"/\" }", &[]),
    ("health = { path = \"healthz\", method = \"G T\", rise = 0, timeout = 5, initial = \"up\" }", &[
        "6:19 error: cluster.web.health.path: \"healthz\" is not a path",
        "6:39 error: cluster.web.health.method: \"G T\" is not a method that a check can have",
        "6:53 error: cluster.web.health.rise = 0 is not a whole number from 1 to 1000",
        "6:66 error: cluster.web.health.timeout = 5 has no unit",
        "6:79 error: cluster.web.health.initial = \"up\" is not known",
    ]),
    ("[cluster.web.health]\ntype = \"ping\"\nheaders = { \"content-length\" = \"3\" }\nexpect = { status = \"ok\", body_regex = \"(\" }\nhold_down_first = 1\ninterval = \"0s\"", &[
        "7:8 error: cluster.web.health.type = \"ping\" is not known",
        "8:13 error: cluster.web.health.headers: a check cannot send the field \"content-length\"",
        "9:21 error: cluster.web.health.expect.status: \"ok\" is not a status, a class or a range of statuses",
        "9:40 error: cluster.web.health.expect.body_regex: it is not a regular expression: found open group without closing ')'",
        "10:19 error: cluster.web.health.hold_down_first = 1 is not true or false",
        "11:12 error: cluster.web.health.interval = \"0s\" is not a duration above zero, like \"250ms\", \"2s\" or \"1m\"",
    ]),
    ("[cluster.web.health]\ntype = \"tcp\"\npath = \"/\"\ninterval = \"10ms\"\nfast_interval = \"20ms\"", &[
        "8:1 warning: cluster.web.health.path plays no part in checks of type \"tcp\"",
        "9:1 warning: 1 endpoints each 10ms: this gateway probes 100 times a second; 12 gateways x 1 endpoints probe 1200 times a second, 1200 of them at each endpoint",
        "9:1 warning: a check may take 500ms and is due each 10ms: one that hangs holds up the next, and a dead endpoint is found after 1.51s at worst",
        "10:1 warning: after a bad answer the next check comes 20ms later, and else each 10ms: the doubtful are checked less often",
    ]),
    ("health = { type = \"grpc\", interval = \"40s\", service = \"a.B\" }\noutlier = { max_ejected = 0.1, base_ejection = \"10m\" }", &[
        "6:27 warning: an endpoint is warm after 30s and checked each 40s: one that the first requests kill has its whole share before that is noticed",
        "7:13 warning: 1 endpoint with max_ejected 0.1 can eject none: the last one is never ejected",
        "7:32 warning: the longest ejection, 300s, is shorter than the first one, 600s: all last 600s",
    ]),
    ("outlier = { latency_factor = 1, failure_rate = 5, max_ejected = 0 }\nslow_start = { window = \"0s\", aggression = 0 }", &[
        "6:30 error: cluster.web.outlier.latency_factor = 1 is not a number from 1.1 to 1000",
        "6:48 error: cluster.web.outlier.failure_rate = 5 is not a number from 0 to 1",
        "6:51 warning: max_ejected = 0 ejects none",
        "7:25 error: cluster.web.slow_start.window = \"0s\" is not a duration above zero, like \"250ms\", \"2s\" or \"1m\"",
        "7:44 error: cluster.web.slow_start.aggression = 0 is not a number from 0.1 to 10",
    ]),
    ("health = false", &[]),
    ("outlier = false\nslow_start = false\npanic = false\nretry = false\ncapacity = false", &[]),
    ("outlier = true", &[
        "6:11 error: cluster.web.outlier = true is not a table",
    ]),
    ("panic = true", &[
        "6:9 error: cluster.web.panic = true is not a table",
    ]),
    ("panic = { threshold = 1.5 }", &[
        "6:23 error: cluster.web.panic.threshold = 1.5 is not a number from 0 to 1",
    ]),
    ("panic = { threshold = \"0.5\" }", &[
        "6:23 error: cluster.web.panic.threshold = \"0.5\" is not a number from 0 to 1",
    ]),
    ("timeout = false", &[
        "6:11 error: cluster.web.timeout = false is not a table",
    ]),
    ("[cluster.web.retry]\nattempts = 9\non = [\"connect\", \"reset\", \"503\", \"429\", \"conect\"]\nstrategy = \"random\"\nbody = \"1GiB\"\nhedge_after = \"50\"", &[
        "7:12 error: cluster.web.retry.attempts = 9 is not a whole number from 1 to 8",
        "8:41 error: cluster.web.retry.on: \"conect\" is not known, did you mean \"connect\"?",
        "9:1 error: unknown key \"strategy\" in cluster.web.retry, it is a key of cluster.web",
        "10:8 error: cluster.web.retry.body = \"1GiB\" is not a size from \"0B\" to \"16MiB\"",
        "11:15 error: cluster.web.retry.hedge_after: \"50\" has no unit",
    ]),
    ("[cluster.web.retry]\nattempts = 2.5\non = \"connect\"", &[
        "7:12 error: cluster.web.retry.attempts = 2.5 is not a whole number from 1 to 8",
        "8:6 error: cluster.web.retry.on = \"connect\" is not a list of \"connect\", \"reset\", \"timeout\", statuses like \"503\" and classes like \"5xx\"",
    ]),
    ("retry = { on = [503, \"2xx\", \"600\", \"50x\", \"5xx\", \"4xx\"], per_try_timeout = 2 }", &[
        "6:17 error: cluster.web.retry.on: 503 is not \"connect\", \"reset\", \"timeout\", a status or a class",
        "6:22 error: cluster.web.retry.on: \"2xx\" is the status of no failure",
        "6:29 error: cluster.web.retry.on: \"600\" is the status of no failure",
        "6:36 error: cluster.web.retry.on: \"50x\" is not known",
        "6:76 error: cluster.web.retry.per_try_timeout = 2 has no unit",
    ]),
    ("[cluster.web.retry]\nbudget = { ratio = 20, per_second = -1, window = \"10ms\", percent = 20 }", &[
        "7:20 error: cluster.web.retry.budget.ratio = 20 is not a number from 0 to 1",
        "7:37 error: cluster.web.retry.budget.per_second = -1 is not a whole number from 0 to 1000000",
        "7:50 error: cluster.web.retry.budget.window: it is shorter than 100 ms, and counts next to nothing",
        "7:58 error: unknown key \"percent\" in cluster.web.retry.budget",
    ]),
    ("[cluster.web.retry]\nbudget = false", &[
        "7:10 error: cluster.web.retry.budget = false is not a table",
    ]),
    ("[cluster.web.retry]\nattempts = 1\non = [\"connect\"]", &[
        "8:1 warning: cluster.web.retry.on does nothing: there is one try",
    ]),
    ("[cluster.web.retry]\nattempts = 3\non = []", &[
        "8:1 warning: cluster.web.retry.on is empty: nothing is tried again",
    ]),
    ("[cluster.web.retry]\non = [\"timeout\"]\nper_try_timeout = false", &[
        "7:1 warning: cluster.web.retry.on has \"timeout\", but a try has no time limit of its own",
    ]),
    ("retry = { on = [\"timeout\"], per_try_timeout = \"2s\" }\ntimeout = { response = \"2s\" }", &[
        "6:29 warning: cluster.web.retry.per_try_timeout is not below timeout.response: it plays no part",
    ]),
    ("retry = { per_try_timeout = \"2s\" }", &[
        "6:11 warning: cluster.web.retry.per_try_timeout ends a try, but no other one follows",
    ]),
    ("retry = { attempts = 1, hedge_after = \"50ms\" }", &[
        "6:25 warning: cluster.web.retry.hedge_after does nothing: there is one try",
    ]),
    ("retry = { on = [\"timeout\"], per_try_timeout = \"50ms\", hedge_after = \"50ms\" }", &[
        "6:55 warning: cluster.web.retry.hedge_after is not below the time for a try: it plays no part",
    ]),
    ("retry = { budget = { ratio = 0, per_second = 0 } }", &[
        "6:11 warning: cluster.web.retry.budget allows no retry",
    ]),
    ("retry = { attempts = 8, on = [\"connect\", \"timeout\", \"429\", \"5xx\"], body = \"0B\", budget = { window = \"1s\" }, per_try_timeout = \"500ms\" }", &[]),
    ("[cluster.web.timeout]\nconnect = 10\nresponse = \"0s\"\nidle = \"\"\npool_idle = \"0s\"", &[
        "7:11 error: cluster.web.timeout.connect = 10 has no unit",
        "8:12 error: cluster.web.timeout.response = \"0s\" is not a duration above zero, like \"250ms\", \"2s\" or \"1m\"",
        "9:8 error: cluster.web.timeout.idle: \"\" is not a duration",
    ]),
    ("[cluster.web.capacity]\npeak = \"auto\"", &[]),
    ("[cluster.web.capacity]\npeak = \"some\"\nstop = 0", &[
        "7:8 error: cluster.web.capacity.peak = \"some\" is not \"auto\" or a whole number from 1 to 1000000",
        "8:8 error: cluster.web.capacity.stop = 0 is not a number from 0.001 to 1",
    ]),
    ("[cluster.web.capacity]\nstop = 0.5\nresume = 0.6\nqueue = { size = 0, timeout = \"0s\" }", &[
        "8:10 error: cluster.web.capacity.resume = 0.6 is above stop = 0.5",
        "9:18 error: cluster.web.capacity.queue.size = 0 is not a whole number from 1 to 100000",
        "9:31 error: cluster.web.capacity.queue.timeout = \"0s\" is not a duration above zero, like \"250ms\", \"2s\" or \"1m\"",
    ]),
    ("[cluster.web.capacity]\npeak = 3\nstop = 0.3\nqueue = { timeout = \"90s\" }", &[
        "8:1 warning: stop = 0.3 of a peak of 3 is 0.9 requests, which rounds to nothing: 1 is taken",
        "9:11 warning: cluster.web.capacity.queue.timeout = 90s is above timeout.response = 60s, which counts from the request on: nobody waits longer than that",
    ]),
    ("[cluster.web.capacity]\npeak = 20\nstop = 0.56\nresume = 0.55", &[
        "9:1 warning: stop = 0.56 and resume = 0.55 of a peak of 20 are both 11 requests: there is no gap between them",
    ]),
    ("strategy = \"maglev\"\ncapacity = { stop = 0.6, queue = false }", &[
        "7:14 warning: cluster.web.capacity.stop has no effect under maglev: a key keeps its endpoint up to the peak",
    ]),
    ("dynamic_weights = { mode = \"cpu\", interval = \"50ms\", report = \"orcas\" }", &[
        "6:28 error: cluster.web.dynamic_weights.mode = \"cpu\" is not known",
        "6:46 error: cluster.web.dynamic_weights.interval = \"50ms\" is not from \"100ms\" to \"60s\"",
        "6:63 error: cluster.web.dynamic_weights.report = \"orcas\" is not known, did you mean \"orca\"?",
    ]),
    ("dynamic_weights = { report = \"health\" }", &[
        "6:30 error: cluster.web.dynamic_weights.report = \"health\" needs checks with a body",
    ]),
    ("dynamic_weights = { mode = \"orca\", report = \"health\" }\nhealth = {}", &[
        "6:45 error: cluster.web.dynamic_weights.report = \"health\" goes with mode = \"utilization\" only",
    ]),
    ("dynamic_weights = { report = \"agent\" }", &[
        "6:21 warning: report = \"agent\" hears nobody: no endpoint has an agent",
    ]),
    ("dynamic_weights = { mode = \"orca\", report = \"agent\" }", &[
        "6:28 error: cluster.web.dynamic_weights.mode = \"orca\" has no part in report = \"agent\"",
        "6:36 warning: report = \"agent\" hears nobody: no endpoint has an agent",
    ]),
    ("dynamic_weights = {}\nstrategy = \"maglev\"", &[
        "6:1 warning: cluster.web.dynamic_weights does nothing under maglev",
    ]),
    ("[cluster.web.capacity]\npeak = 0", &[
        "7:8 error: cluster.web.capacity.peak = 0 is not \"auto\" or a whole number from 1 to 1000000",
    ]),
    ("[cluster.web.discovery]\ntype = \"file\"", &[
        "6:1 error: cluster.web.discovery has no path",
    ]),
    ("[cluster.web.discovery]\nrefresh = \"10ms\"\nmax_drop = 2", &[
        "6:1 error: cluster.web.discovery has no type",
        "7:11 error: cluster.web.discovery.refresh = \"10ms\" is not from \"100ms\" to \"1h\"",
        "8:12 error: cluster.web.discovery.max_drop = 2 is not a number from 0 to 1",
    ]),
    ("[cluster.web.discovery]\ntype = \"dns\"\nname = \"a b\"\nresolver = \"x\"\npath = \"y\"", &[
        "6:1 error: cluster.web.discovery has no port",
        "8:8 error: cluster.web.discovery.name: \"a b\" is not a name in DNS",
        "9:12 error: cluster.web.discovery.resolver: the address \"x\" has no port",
        "10:1 error: cluster.web.discovery.path is no key of a source of type \"dns\"",
    ]),
    ("discovery = { type = \"dns\", name = \"_http._tcp.web.\", record = \"SRV\", port = 1 }", &[
        "6:71 error: cluster.web.discovery.port has no effect: SRV records say the port",
    ]),
    ("[cluster.web.discovery]\ntype = \"etcd\"\nprefix = \"/\"\nuser = \"u\"\npath = \"a\"", &[
        "6:1 error: cluster.web.discovery has no endpoints",
        "6:1 error: cluster.web.discovery has no password_file",
        "8:10 error: cluster.web.discovery.prefix: \"/\" has all keys",
        "10:1 error: cluster.web.discovery.path is no key of a source of type \"etcd\"",
    ]),
    ("discovery = { type = \"etcd\", endpoints = [\"etcd://a:2379/\", \"http://a/b\"] }", &[
        "6:43 error: cluster.web.discovery.endpoints: the URL \"etcd://a:2379/\" does not begin with \"http://\"",
        "6:61 error: cluster.web.discovery.endpoints: the URL \"http://a/b\" has a path",
    ]),
    ("discovery = { type = \"etcd\", endpoints = [] }", &[
        "6:42 error: cluster.web.discovery.endpoints is empty",
    ]),
    ("discovery = { type = \"consul\", path = \"\", token_file = \"none\" }", &[
        "6:13 error: cluster.web.discovery has no service",
        "6:32 error: cluster.web.discovery.path is no key of a source of type \"consul\"",
        "6:56 error: the file \"none\" of cluster.web.discovery.token_file cannot be used: entity not found",
    ]),
    ("discovery = { type = \"kubernetes\", service = \"a\", port = 0 }", &[
        "6:58 error: cluster.web.discovery.port = 0 is not a whole number from 1 to 65535",
    ]),
    ("sticky = true", &[
        "6:10 error: cluster.web.sticky = true is not a table",
    ]),
    ("sticky = { cookie = \"a b\", secret = 1 }", &[
        "6:21 error: cluster.web.sticky.cookie: \"a b\" is not the name of a cookie",
        "6:28 error: unknown key \"secret\" in cluster.web.sticky",
    ]),
    ("[cluster.web.sticky]\ncookie = \"__Host-ek\"", &[
        "7:10 error: cluster.web.sticky.cookie: browsers take the cookie \"__Host-ek\" over TLS only",
    ]),
    ("x = 1979-05-27", &[
        "6:1 error: unknown key \"x\" in cluster.web",
    ]),
    ("capacity = { peak = 99999999999999999999 }", &[
        "6:21 error: cluster.web.capacity.peak = 99999999999999999999 is not \"auto\" or a whole number from 1 to 1000000",
    ]),
];

/// What stands in the list of endpoints, on line 5 behind 13 characters.
#[rustfmt::skip]
pub(super) const ENDPOINTS: &[Case] = &[
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
