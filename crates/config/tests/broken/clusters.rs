//! What stands in a cluster.

use super::support::Case;

/// What stands behind the endpoints of a cluster, on line 6.
#[rustfmt::skip]
pub(crate) const CLUSTER: &[Case] = &[
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
    ("hash = { bounded_load = false }\nstrategy = \"maglev\"", &[]),
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
