#!/usr/bin/env python3
"""What it costs to watch and steer a gateway, in figures that a machine at rest gives again:

* a scrape of /metrics with 1,000 endpoints that have all had traffic (aim: under 50 ms), and whether the p99 of
  traffic rises while it is scraped on and on
* the 99th percentile of calls of the admin API while the data plane is saturated (aim: under 50 ms)
* an idle dashboard page in Chromium: CPU of the gateway that it costs (aim: under 1 % of a core)

    operating.py --binary target/release/evenkeel [--seconds 10] [--only scrape,api,page]

Only loopback, the standard library, and for the page Debian's chromium. What receipts cost is counted by
protection.py, which needs no quiet machine.
"""

import argparse
import atexit
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import loopback
from loopback import ask, connect, serve

CALLS = ["/api/v1/clusters/web", "/api/v1/clusters/web/endpoints", "/api/v1/decisions?limit=10", "/metrics"]


def end(child):
    """Ends a process that was forked."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(child, 9)
        os.waitpid(child, 0)


def endpoints(count):
    """So many addresses behind one socket on all of loopback's addresses; runs in a process of its own."""
    listener = socket.create_server(("0.0.0.0", 0), backlog=1024)
    port = listener.getsockname()[1]
    child = os.fork()
    if child == 0:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
    atexit.register(end, child)
    listener.close()
    return [f"127.0.{n // 250}.{n % 250 + 1}:{port}" for n in range(count)]


def gateway(binary, addresses, more=""):
    """A gateway with one worker and these endpoints: the process, where it listens, its admin address."""
    text = (
        '[admin]\naddress = "127.0.0.1:0"\n[runtime]\nworkers = 1\n[log]\nlevel = "error"\n'
        f'{loopback.HEAD}[cluster.web]\nstrategy = "round_robin"\nendpoints = {json.dumps(addresses)}\n{more}'
    )
    return loopback.gateway([binary], text)


def timed(seconds, call):
    """How long each call took in ms, sorted: as many as go into so many seconds, and 20 at least."""
    times, until = [], time.monotonic() + seconds
    while len(times) < 20 or time.monotonic() < until:
        began = time.monotonic()
        call()
        times.append((time.monotonic() - began) * 1e3)
    return sorted(times)


def quantile(times, share):
    """Of sorted times."""
    return times[min(len(times) - 1, int(len(times) * share))]


def fetch(admin, path):
    """A call of the admin API on a connection of its own; its body."""
    client = http.client.HTTPConnection(*admin, timeout=30)
    client.request("GET", path)
    answer = client.getresponse()
    body = answer.read()
    assert answer.status == 200, (path, answer.status, body[:200])
    client.close()
    return body


def saturating(address, connections):
    """Load in processes of their own that never wait: as much as the machine gives; those processes."""
    children = []
    for _ in range(connections):
        child = os.fork()
        if child == 0:
            with contextlib.suppress(OSError, AssertionError):
                client = connect(address)
                while True:
                    ask(client)
            os._exit(0)
        children.append(child)

    return children


def cpu(pid):
    """Seconds of CPU that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scrape(binary, seconds):
    """Scrapes with 1,000 endpoints, and what they do to traffic."""
    with gateway(binary, endpoints(1000)) as (_, traffic, admin):
        client = connect(traffic)
        for _ in range(2000):
            ask(client)
        calm = timed(seconds, lambda: ask(client))
        scraper = os.fork()
        if scraper == 0:
            with contextlib.suppress(OSError, AssertionError):
                while True:
                    fetch(admin, "/metrics")
            os._exit(0)
        watched = timed(seconds, lambda: ask(client))
        end(scraper)
        alone = timed(seconds, lambda: fetch(admin, "/metrics"))
        size = len(fetch(admin, "/metrics"))
    yield "scrape of 1,000 endpoints, median", f"{quantile(alone, 0.5):.1f} ms", "50 ms"
    yield "scrape of 1,000 endpoints, p99", f"{quantile(alone, 0.99):.1f} ms", "50 ms"
    yield "its size", f"{size / 1024:.0f} KiB", ""
    yield "p99 of a request, nobody scrapes", f"{quantile(calm, 0.99):.3f} ms", ""
    yield "p99 of a request, scraped on and on", f"{quantile(watched, 0.99):.3f} ms", "as much"


def api(binary, seconds):
    """Calls while the data plane has more to do than it can."""
    with gateway(binary, endpoints(50), "") as (process, traffic, admin):
        children = saturating(traffic, 16)
        try:
            time.sleep(1)
            before, since = cpu(process.pid), time.monotonic()
            turn = [0]

            def call():
                turn[0] += 1
                fetch(admin, CALLS[turn[0] % len(CALLS)])

            times = timed(seconds, call)
            busy = (cpu(process.pid) - before) / (time.monotonic() - since)
        finally:
            for child in children:
                end(child)
    yield "admin call while saturated, median", f"{quantile(times, 0.5):.1f} ms", ""
    yield "admin call while saturated, p99", f"{quantile(times, 0.99):.1f} ms", "50 ms"
    yield "CPU of the gateway meanwhile", f"{busy * 100:.0f} % of a core", ""


def page(binary, seconds):
    """The dashboard, open in a browser that nobody touches, of a gateway without traffic."""
    version = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    if "without the dashboard" in version:
        yield "idle dashboard page", "this binary has none", "1 % of a core"
        return
    chromium = shutil.which("chromium")
    if not chromium:
        yield "idle dashboard page", "no chromium here", "1 % of a core"
        return
    with gateway(binary, endpoints(6)) as (process, _, admin), tempfile.TemporaryDirectory() as home:
        time.sleep(2)
        spent = [used(process.pid, seconds)]
        browser = subprocess.Popen(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={home}", "--remote-debugging-port=0", f"http://{admin[0]}:{admin[1]}/"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        try:
            deadline = time.monotonic() + 60
            while streams(admin) < 1:
                assert time.monotonic() < deadline, "the page does not open"
                time.sleep(0.5)
            time.sleep(3)
            spent.append(used(process.pid, seconds))
            assert streams(admin) >= 1, "the page has gone"
        finally:
            os.killpg(browser.pid, 9)
            browser.wait()
    yield "gateway at rest, nobody looks", f"{spent[0] * 100:.2f} % of a core", ""
    yield "gateway at rest, one page open", f"{spent[1] * 100:.2f} % of a core", "1 % of a core"


def streams(admin):
    """How many connections to the admin address others hold."""
    ss = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    port = f"{admin[1]:04X}"
    return sum(1 for line in ss if line.split()[1].endswith(":" + port) and line.split()[3] == "01")


def used(pid, seconds):
    """The share of a core that a process uses, over so many seconds."""
    before, since = cpu(pid), time.monotonic()
    time.sleep(max(seconds, 5))
    return (cpu(pid) - before) / (time.monotonic() - since)


PARTS = {"scrape": scrape, "api": api, "page": page}


def main():
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/evenkeel")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--only", default=",".join(PARTS), help="of " + ", ".join(PARTS))
    options = parser.parse_args()
    print("| what | found | aim |\n|---|---|---|", flush=True)
    for name in options.only.split(","):
        if name not in PARTS:
            parser.error(f"no part `{name}`; there are {', '.join(PARTS)}")
        for what, found, aim in PARTS[name](options.binary, options.seconds):
            print(f"| {what} | {found} | {aim} |", flush=True)


if __name__ == "__main__":
    main()
