//! The table of keys of scenarios. They stand below `scenario`, which is not written; what stands in
//! `[cluster]` beside `strategies` are the keys of a real cluster.

use super::keys::{Key, Support};
use super::kind::Kind::{self, *};
use crate::value::{law, traffic};

/// Every key of a scenario, in the order in which they are taught.
#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("scenario.about", Said("a text"), "", "What it shows."),
    key("scenario.expected", Said("a text"), "", "What is expected of it."),
    key("scenario.references", Said("true or false"), "true", "Whether results have two rows to hold the others against: a balancer that knows everything, and the first strategy with another seed."),
    key("scenario.load", Table, "", "The traffic."),
    key("scenario.load.requests", Integer(1, 1_000_000_000), "100000", "How many requests there are."),
    key("scenario.load.duration", Duration, "", "Or for how long they come."),
    key("scenario.load.warmup", DurationOrZero, "\"0s\"", "So much at the beginning is not counted."),
    key("scenario.load.arrivals", Said(traffic::ARRIVALS), "\"poisson\"", "How they arrive. A trace has a line for each: its time in seconds and, behind a comma, the number of its key."),
    key("scenario.load.rate", Number(0.000_001, 10_000_000.0), "100", "How many a second."),
    key("scenario.load.stages", Tables(""), "", "Or several rates, one after the other; the last one lasts to the end."),
    key("scenario.load.stages.rate", Number(0.000_001, 10_000_000.0), "", "How many a second; needed."),
    key("scenario.load.stages.for", Duration, "", "How long; needed."),
    key("scenario.load.users", Integer(1, 1_000_000), "", "Instead of a rate: users that wait for one answer before they ask again."),
    key("scenario.load.think", Said(law::WANTED), "\"0ms\"", "How long a user waits between an answer and the next request."),
    key("scenario.load.clients", Integer(1, 10_000), "1", "How many balancers share the traffic, each with its own view of the backends."),
    key("scenario.load.strategy", Strategy, "", "The strategy of these where only the calls between backends are compared."),
    key("scenario.load.zone", Name, "", "The zone that they stand in."),
    key("scenario.load.keys", Said(traffic::KEYS), "", "What the keys of requests are; they have none when absent."),
    key("scenario.load.entry", Name, "", "The group of backends that requests go to; that of the first table when absent."),
    key("scenario.load.discovery_delay", Said(law::WANTED), "\"0ms\"", "How long each balancer takes to hear that an endpoint has joined or left."),
    key("scenario.load.probes", Integer(0, 10), "0", "How many backends, drawn by chance, a balancer asks for their load at each request, for prequal as with its `probe_path`; they answer with their requests in flight and the median latency at so many."),
    key("scenario.load.probe_delay", Said(law::WANTED), "\"1ms\"", "How long it takes until such an answer is there."),
    key("scenario.load.sample", Duration, "", "How often the state is looked at for pictures and queue lengths; some 240 times in all when absent."),
    key("scenario.backend", Tables("service"), "", "Backends of one kind. At least one table is needed."),
    key("scenario.backend.name", Name, "\"backend\"", "The group that they belong to."),
    key("scenario.backend.count", Integer(1, 10_000), "1", "How many there are."),
    key("scenario.backend.service", Said(law::WANTED), "", "How long one of them takes for a request; needed."),
    key("scenario.backend.concurrency", Number(0.01, 1_000_000.0), "", "How many requests are served at once (fifo), or how many cores share them, fractions too (ps); any number when absent."),
    key("scenario.backend.spread", Table, "", "Multiplies `concurrency` by a normal draw for each backend, once for each run."),
    key("scenario.backend.spread.mean", Number(0.0, 1000.0), "1", "The mean of the draw."),
    key("scenario.backend.spread.deviation", Number(0.0, 1000.0), "0", "Its deviation."),
    key("scenario.backend.spread.min", Number(0.01, 1000.0), "0.1", "What is less becomes this."),
    key("scenario.backend.discipline", Word(&["fifo", "ps"], &[]), "\"fifo\"", "\"fifo\": in the order of arrival; \"ps\": all at once, each with its share, and no request with more than one core."),
    key("scenario.backend.queue", Integer(0, 10_000_000), "", "How many may wait beside those that are served; more are answered 503. Any number when absent."),
    key("scenario.backend.weight", Weight, "1", "The weight of their endpoints."),
    key("scenario.backend.zone", Name, "", "The zone that they stand in."),
    key("scenario.backend.tier", Integer(0, 255), "0", "Tier 0 is used first."),
    key("scenario.backend.capacity", Integer(1, 1_000_000), "", "The most requests that a balancer gives one of them at once; the cluster's `capacity.peak` when absent."),
    key("scenario.backend.calls", Said("a list of groups, like [\"user\", \"time\"]"), "[]", "The groups that a request is passed on to, one after the other, before it is answered. Each backend has a balancer of its own for these."),
    key("scenario.backend.cache", Table, "", "The keys that a backend keeps."),
    key("scenario.backend.cache.size", Integer(1, 10_000_000), "1000", "How many."),
    key("scenario.backend.cache.miss", Said(law::WANTED), "", "How much longer a request takes whose key is not kept; needed."),
    key("scenario.backend.absent", Said("true or false"), "false", "Whether they are not in the list until a fault has them join."),
    key("scenario.fault", Tables("at"), "", "What befalls backends, on the time of the simulation."),
    key("scenario.fault.at", DurationOrZero, "", "When; needed."),
    key("scenario.fault.for", Duration, "", "For how long; to the end when absent."),
    key("scenario.fault.every", Duration, "", "How often it happens again, from one beginning to the next."),
    key("scenario.fault.backend", Said("a number from 0, a list of numbers, or \"all\""), "", "Whom: counted from 0 over all tables of backends. Needed."),
    key("scenario.fault.clients", Said("a list of numbers from 0"), "", "Which balancers it is for, for a partition; all when absent."),
    key("scenario.fault.slow", Number(0.001, 1_000_000.0), "", "It takes so many times as long."),
    key("scenario.fault.down", Said("true"), "", "It refuses connections, and what it was doing is lost."),
    key("scenario.fault.errors", Share, "", "This share of its answers is an error."),
    key("scenario.fault.status", Integer(400, 599), "500", "The status of such an answer."),
    key("scenario.fault.after", DurationOrZero, "\"1ms\"", "How long such an answer takes."),
    key("scenario.fault.pause", Said("a duration, like \"500ms\""), "", "It stands still for so long."),
    key("scenario.fault.partition", Said("true"), "", "It cannot be reached and does not answer."),
    key("scenario.fault.join", Said("true"), "", "It joins the list."),
    key("scenario.fault.leave", Said("true"), "", "It leaves the list, and finishes what it has."),
    key("scenario.fault.recover", Said("true"), "", "Everything is well again."),
    key("scenario.cluster", Table, "", "What is compared: `strategies`, and any table of a real cluster."),
];

const fn key(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key {
        path,
        kind,
        default,
        off: false,
        doc,
        support: Support::Now,
    }
}
