#!/usr/bin/env python3
"""Measures Evenkeel beside other proxies: CPU per request, rate, latency, memory.

The proxy under test has CPU 0 to itself; the load generator and the four backends share CPU 1.
Every proxy is started afresh for every round, warmed up, measured and stopped, and the proxies
take turns, so that a machine that slows down for a while slows all of them. Ratios are taken
within a round; of rounds, the median is printed.
"""

import argparse
import json
import sys

import load
import machine
import proxies
import report

DEFAULT_RIVALS = ["haproxy-full", "nginx-full", "haproxy-2.8", "nginx", "pingora"]


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--binary", required=True, help="the evenkeel binary to measure")
    parser.add_argument("--only", default=",".join(DEFAULT_RIVALS),
                        help="rivals, of " + ", ".join(proxies.RIVALS) + "; may be empty")
    parser.add_argument("--scenarios", default="get",
                        help="of " + ", ".join(load.SCENARIOS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--secs", type=int, default=3, help="of one measurement")
    parser.add_argument("--warm", type=int, default=1, help="seconds of load before it")
    parser.add_argument("--rate", type=int, default=5000, help="requests a second of `rate`")
    parser.add_argument("--quiet", type=float, default=machine.QUIET_CPUS,
                        help="CPUs that others may use in a measurement before it is repeated")
    parser.add_argument("--retries", type=int, default=2, help="repetitions of such a measurement")
    parser.add_argument("--patience", type=float, default=20.0,
                        help="seconds to wait for a quiet machine before a measurement")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    options = parser.parse_args()
    options.only = [name for name in options.only.split(",") if name]
    options.scenarios = options.scenarios.split(",")
    check_names(parser, "rival", options.only, proxies.RIVALS)
    check_names(parser, "scenario", options.scenarios, load.SCENARIOS)
    return options


def check_names(parser, kind, given, known):
    """Ends with a usage error when a name is not known."""
    for name in given:
        if name not in known:
            parser.error(f"no {kind} `{name}`; there are {', '.join(known)}")


def main():
    """Runs all rounds of all scenarios and prints the rows; the exit code."""
    options = arguments()
    systems = [proxies.evenkeel(options.binary)]
    systems += [proxies.RIVALS[name] for name in options.only]
    rows, complete = [], True
    with proxies.backends() as first, proxies.h2_backend() as second:
        backends = [first.pid, second.pid]
        for name in options.scenarios:
            speaking = those_of(name, systems, options.binary)
            rounds = [run_round(name, speaking, backends, options, i)
                      for i in range(options.rounds)]
            rows += report.rows(name, rounds, [system.name for system in speaking])
            complete = complete and all(len(r) == len(speaking) for r in rounds)
    if options.format == "json":
        print(json.dumps(rows, indent=2))
    else:
        report.print_text(rows)
    return 0 if complete else 1


def those_of(scenario, systems, binary):
    """The systems that are compared in a scenario, as they are configured for it."""
    if scenario not in load.PROTOCOLS:
        return systems
    speaking = [proxies.speaking(system, binary) for system in systems]
    return [system for system in speaking if system]


def run_round(scenario, systems, backends, options, number):
    """One measurement of each system; those that failed are named on stderr and left out."""
    results = {}
    for system in systems:
        try:
            results[system.name] = undisturbed(scenario, system, backends, options)
        except (OSError, RuntimeError) as error:
            print(f"{scenario}, round {number + 1}: {system.name}: {error}", file=sys.stderr)
    return results


def undisturbed(scenario, system, backends, options):
    """Measures until nobody else used the machine, at most 1 + retries times; the best of them."""
    best = None
    for _ in range(1 + options.retries):
        machine.wait_until_quiet(options.patience)
        result = measure(scenario, system, backends, options)
        if best is None or result["others_cpu"] < best["others_cpu"]:
            best = result
        if best["others_cpu"] <= options.quiet:
            break
    return best


def measure(scenario, system, backends, options):
    """Starts the system, loads it, and says what a request cost."""
    with proxies.running(system) as proxy:
        # What a warm-up leaves in buffers would hide what an idle connection takes.
        load.warm_up(0 if scenario.startswith("idle") else options.warm)
        before = machine.usage(proxy.pid, backends)
        result = load.SCENARIOS[scenario](options, proxy.pid)
        spent = machine.usage(proxy.pid, backends) - before
        result["us_per_request"] = spent.proxy * 1e6 / result["requests"]
        result["proxy_cpu"] = spent.proxy / spent.wall
        result["others_cpu"] = max(0.0, spent.others / spent.wall)
        result.setdefault("rss_mib", machine.rss_mib(proxy.pid))
        return result


if __name__ == "__main__":
    sys.exit(main())
