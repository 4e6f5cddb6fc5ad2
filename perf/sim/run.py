#!/usr/bin/env python3
"""The same workload simulated and real: `evenkeel sim` beside `evenkeel serve` in front of `evenkeel backend`.

Requests come by chance, whatever becomes of them; latencies count from the moment a request was due, so a
stall of the gateway or of this program is not left out. Both sides have the same laws, rates and strategies.
"""

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
import time

WORKLOADS = [
    {"name": "even", "laws": ["lognormal(150ms, 0.3)"] * 6, "slots": 4, "rate": 64, "strategy": "least_request"},
    {"name": "busy turns", "laws": ["exponential(200ms)"] * 6, "slots": 4, "rate": 84, "strategy": "round_robin"},
    {
        "name": "one is slow",
        "laws": ["uniform(300ms, 600ms)"] + ["uniform(100ms, 200ms)"] * 5,
        "slots": 4,
        "rate": 64,
        "strategy": "peak_ewma",
    },
]

LIMIT = 0.15


def scaled(load, times):
    """The same load with all times so many times as long."""
    longer = lambda law: re.sub(r"(\d+)ms", lambda found: f"{int(found[1]) * times}ms", law)
    return load | {"laws": [longer(law) for law in load["laws"]], "rate": load["rate"] / times}


def scenario(load, seconds, warmup):
    text = f'references = false\n[load]\nduration = "{seconds}s"\nwarmup = "{warmup}s"\nrate = {load["rate"]}\n'
    for law in load["laws"]:
        text += f'[[backend]]\nservice = "{law}"\nconcurrency = {load["slots"]}\n'
    return text + f'[cluster]\nstrategies = ["{load["strategy"]}"]\n'


def simulated(binary, load, seconds, warmup):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario(load, seconds, warmup))
        file.flush()
        done = subprocess.run(
            [binary, "sim", file.name, "--format", "json"], capture_output=True, text=True, check=True
        )
    latency = json.loads(done.stdout)["results"][0]["latency_ms"]
    return latency["p50"], latency["p99"]


def started(command):
    """Starts a program and reads the address it listens on."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    line = process.stdout.readline()
    words = [word for word in line.replace(",", " ").split() if ":" in word and word.rsplit(":", 1)[1].isdigit()]
    if not words:
        raise SystemExit(f"{command[1]} did not start: {line!r}")
    return process, words[0].removeprefix("http://")


class Connections:
    """Connections to the gateway that wait for their next request."""

    def __init__(self, address):
        self.host, port = address.rsplit(":", 1)
        self.port = int(port)
        self.idle = []

    async def get(self):
        reader, writer = self.idle.pop() if self.idle else await asyncio.open_connection(self.host, self.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: bench\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        if length:
            await reader.readexactly(length)
        self.idle.append((reader, writer))
        return head.split(b" ", 2)[1] == b"200"


async def drive(address, rate, seconds, warmup):
    connections, chance = Connections(address), random.Random(1)
    latencies, failures, tasks = [], 0, set()
    begun = time.perf_counter()

    async def one(due):
        nonlocal failures
        try:
            well = await connections.get()
        except (OSError, asyncio.IncompleteReadError):
            well = False
        if due < warmup:
            return
        if well:
            latencies.append((time.perf_counter() - begun - due) * 1e3)
        else:
            failures += 1

    due = 0.0
    while (due := due + chance.expovariate(rate)) < seconds:
        wait = due - (time.perf_counter() - begun)
        if wait > 0:
            await asyncio.sleep(wait)
        task = asyncio.create_task(one(due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    latencies.sort()
    at = lambda share: latencies[min(len(latencies) - 1, int(share * len(latencies)))]
    return at(0.5), at(0.99), failures


def real(binary, load, seconds, warmup):
    processes = []
    try:
        serve = [binary, "serve", "--listen", "127.0.0.1:0", "--strategy", load["strategy"], "--workers", "1"]
        for number, law in enumerate(load["laws"]):
            command = [binary, "backend", "--latency", law.replace(" ", ""), "--name", f"b{number}"]
            process, address = started(command + ["--concurrency", str(load["slots"])])
            processes.append(process)
            serve += ["--to", address]
        process, address = started(serve)
        processes.append(process)
        return asyncio.run(drive(address, load["rate"], seconds, warmup))
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--secs", type=int, default=60)
    parser.add_argument("--scale", type=int, default=1, help="all times so many times as long: for a machine that has other work")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    asked = parser.parse_args()
    rows = []
    for load in WORKLOADS:
        load = scaled(load, asked.scale)
        warmup = min(5, asked.secs // 4)
        model = simulated(asked.binary, load, max(asked.secs, 3600), warmup)
        p50, p99, failures = real(asked.binary, load, asked.secs, warmup)
        rows.append(
            {
                "workload": load["name"],
                "strategy": load["strategy"],
                "rate": load["rate"],
                "simulated_ms": {"p50": model[0], "p99": model[1]},
                "real_ms": {"p50": round(p50, 3), "p99": round(p99, 3)},
                "off": {"p50": round(p50 / model[0] - 1, 4), "p99": round(p99 / model[1] - 1, 4)},
                "failures": failures,
            }
        )
    if asked.format == "json":
        print(json.dumps(rows, indent=2))
    else:
        print(f"{'workload':<12} {'strategy':<14} {'rate':>5} {'p50 sim':>9} {'real':>8} {'off':>7} {'p99 sim':>9} {'real':>8} {'off':>7}")
        for row in rows:
            sim, seen, off = row["simulated_ms"], row["real_ms"], row["off"]
            print(
                f"{row['workload']:<12} {row['strategy']:<14} {row['rate']:>5.0f} {sim['p50']:>9.1f} {seen['p50']:>8.1f} {off['p50']:>+7.1%}"
                f" {sim['p99']:>9.1f} {seen['p99']:>8.1f} {off['p99']:>+7.1%}"
            )
    if any(abs(off) > LIMIT for row in rows for off in row["off"].values()):
        sys.exit(f"the simulator and the gateway differ by more than {LIMIT:.0%}")


if __name__ == "__main__":
    main()
