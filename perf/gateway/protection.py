#!/usr/bin/env python3
"""What gates, health, weights, shadows and receipts cost a request, in instructions of the worker that serves it: counted by
callgrind, so no noise of a machine plays a part.

    protection.py --binary target/release/evenkeel [--requests 4000]

One worker and four endpoints over loopback, one client on one connection. Each set of features is a process of its
own; what it costs is the difference to the first one, with everything turned off.
"""

import argparse
import base64
import pathlib
import re
import socket
import struct
import subprocess
import tempfile
import threading
import time

from loopback import HEAD, ask, connect, gateway, serve

# cpu_utilization, rps_fractional and eps of OrcaLoadReport.
MESSAGE = b"".join(bytes([field << 3 | 1]) + struct.pack("<d", value) for field, value in [(1, 0.3), (6, 120), (7, 0)])
REPORTS = {
    "TEXT": b"endpoint-load-metrics: TEXT cpu_utilization=0.3,rps_fractional=120,eps=0\r\n",
    "JSON": b'endpoint-load-metrics: JSON {"cpu_utilization":0.3,"rps_fractional":120,"eps":0}\r\n',
    "BIN": b"endpoint-load-metrics-bin: " + base64.b64encode(MESSAGE) + b"\r\n",
    None: b"",
}
OFF = "outlier = false\nslow_start = false\npanic = false\n"
CHECKS = '[cluster.web.health]\ntype = "tcp"\n'
CAPACITY = "[cluster.web.capacity]\npeak = 200\nqueue = { size = 100 }\n"
WEIGHTS = '[cluster.web.dynamic_weights]\nmode = "{}"\nblackout = "0s"\n'
# Once a minute: what a request pays by itself. Under valgrind what is done each second weighs forty times as much.
SELDOM = WEIGHTS + 'interval = "60s"\n'
LEARNED = '[cluster.web.capacity]\npeak = "auto"\nqueue = { size = 100 }\n'
SLOW = "[cluster.web.outlier]\nlatency_factor = 3.0\n"
ALL = CHECKS + SLOW + CAPACITY

SHADOWS = "[cluster.web.shadow]\nstrategies = {}\n"

# Name, a cluster's own keys, its tables, how endpoints report.
SETS = [
    ("nothing", OFF, "", None),
    ("defaults: ejection, slow start, panic", "", "", None),
    ("checks by TCP", OFF, CHECKS, None),
    ("ejection for latency", "slow_start = false\npanic = false\n", SLOW, None),
    ("caps, levels and a queue", OFF, CAPACITY, None),
    ("a peak that is learned", OFF, LEARNED, None),
    ("weights by latency", OFF, WEIGHTS.format("latency"), None),
    ("all of these", "", ALL + WEIGHTS.format("latency"), None),
    ("a shadow, and the noise", OFF, SHADOWS.format('["peak_ewma"]'), None),
    ("four shadows, and the noise", OFF,
     SHADOWS.format('["round_robin", "peak_ewma", "maglev", "prequal"]'), None),
    ("no receipts at all", OFF, "[log]\ndecision = false\n", None),
    ("a receipt of every request", OFF, "[log]\ndecision = { sample = 1.0 }\n", None),
    ("a receipt of every request, in a file", OFF,
     '[log]\ndecision = { sample = 1.0, path = "/dev/null" }\n', None),
    ("reports that nobody reads, TEXT", OFF, "", "TEXT"),
    ("reports that nobody reads, JSON", OFF, "", "JSON"),
    ("reports that nobody reads, BIN", OFF, "", "BIN"),
    ("weights by reports, TEXT", OFF, SELDOM.format("utilization"), "TEXT"),
    ("weights by reports, JSON", OFF, SELDOM.format("utilization"), "JSON"),
    ("weights by reports, BIN", OFF, SELDOM.format("utilization"), "BIN"),
    ("weights by reports, orca, TEXT", OFF, SELDOM.format("orca"), "TEXT"),
    ("weights by reports, worked out each second", OFF, WEIGHTS.format("utilization"), "TEXT"),
    ("all, with weights by reports, TEXT", "", ALL + SELDOM.format("utilization"), "TEXT"),
]


def endpoint(reports):
    """An endpoint that answers each request with two bytes; gives its address."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + REPORTS[reports] + b"\r\nok"
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, answer), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return "127.0.0.1:%d" % listener.getsockname()[1]


def measure(binary, keys, tables, reports, requests):
    """Instructions of the busiest thread for each request."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out")
        endpoints = [endpoint(reports) for _ in range(4)]
        counted = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}", binary]
        text = f"[runtime]\nworkers = 1\n{HEAD}[cluster.web]\n{keys}endpoints = {endpoints}\n{tables}"
        with gateway(counted, text) as (process, address, _):
            client = connect(address)
            for _ in range(requests // 2):
                ask(client)
            totals(process.pid, out)
            for _ in range(requests):
                ask(client)
            return max(totals(process.pid, out).values()) / requests


def totals(pid, out):
    """What each thread has done since the last time."""
    for old in out.parent.glob(out.name + "*"):
        old.unlink()
    subprocess.run(["callgrind_control", "-d", str(pid)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while True:
        found = {}
        for part in out.parent.glob(out.name + "*"):
            text = part.read_text(errors="replace")
            thread = re.search(r"^thread: (\d+)", text, re.M)
            total = re.search(r"^(?:totals|summary): (\d+)", text, re.M)
            if thread and total:
                found[thread[1]] = int(total[1])
        if len(found) > 1:
            return found
        assert time.monotonic() < deadline, "no figures"
        time.sleep(0.2)


def main():
    """Measures all sets and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", default="target/release/evenkeel")
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--only", default="", help="sets with these letters in their names, beside the first")
    options = parser.parse_args()
    nothing = None
    print("| turned on | instructions for each request | more than nothing |\n|---|---|---|")
    wanted = SETS[:1] + [one for one in SETS[1:] if options.only in one[0]]
    for name, keys, tables, reports in wanted:
        count = measure(options.binary, keys, tables, reports, options.requests)
        nothing = nothing or count
        print(f"| {name} | {count:,.0f} | {count - nothing:+,.0f} |", flush=True)


if __name__ == "__main__":
    main()
