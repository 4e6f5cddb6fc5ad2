"""The scenarios: who asks for what, and how its answer is read."""

import contextlib
import json
import re
import socket
import ssl
import subprocess
import time

import machine
from proxies import H2_PORT, HERE, LAB, LOAD_CPU, PORT, TCP_PORT, TLS_PORT

URL = f"http://127.0.0.1:{PORT}"
TLS_URL = f"https://127.0.0.1:{TLS_PORT}"
H2_URL = f"http://127.0.0.1:{H2_PORT}"
TCP_URL = f"http://127.0.0.1:{TCP_PORT}"
# A gRPC message of 100 bytes behind its prefix.
GRPC_BODY = b"\0\0\0\0\x64" + b"x" * 100
# Streams at a time on each connection of HTTP/2.
STREAMS = 8
CONNECTIONS = 64
# A big answer fills the link with few connections.
BIG_CONNECTIONS = 8
IDLE_CONNECTIONS = 1000
MICROSECONDS = {"us": 1, "ms": 1e3, "s": 1e6, "m": 6e7}


def output(command, seconds):
    """What a load generator says; it may take a minute longer than it was told."""
    done = subprocess.run(["taskset", "-c", LOAD_CPU, *command], capture_output=True, text=True,
                          timeout=seconds + 60, check=False)
    return done.stdout + done.stderr


def warm_up(seconds):
    """Fills pools, caches and branch predictors."""
    if seconds:
        output(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", f"{URL}/"], seconds)


def wrk(seconds, connections=CONNECTIONS, path="/", script=None, url=URL):
    """Closed loop: every connection asks again as soon as it was answered."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "10s"]
    if script:
        command += ["-s", str(HERE / script)]
    return read_wrk(output([*command, url + path], seconds))


def read_wrk(said):
    """The figures in wrk's report."""
    total = re.search(r"(\d+) requests in", said)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    p99 = re.search(r"^\s+99%\s+([\d.]+)(us|ms|s|m)\s*$", said, re.MULTILINE)
    if not (total and rate and p99 and int(total.group(1))):
        raise RuntimeError(f"wrk said: {said[-300:]}")
    return {
        "requests": int(total.group(1)),
        "rps": float(rate.group(1)),
        "p99_us": float(p99.group(1)) * MICROSECONDS[p99.group(2)],
        "failed": failures(said),
    }


def failures(said):
    """Answers that were no success, and connections that broke, as wrk counts them."""
    counts = re.findall(r"Non-2xx or 3xx responses: (\d+)", said)
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said)
    return sum(map(int, counts)) + sum(map(int, errors.groups() if errors else ()))


def oha(seconds, rate):
    """Open loop: requests come at a fixed rate, whether the last ones were answered or not."""
    command = [f"{LAB}/oha/bin/oha", "--no-tui", "--output-format", "json", "--latency-correction",
               "-c", str(CONNECTIONS), "-q", str(rate), "-z", f"{seconds}s", f"{URL}/"]
    said = output(command, seconds)
    if "{" not in said:
        raise RuntimeError(f"oha said: {said[-300:]}")
    result = json.loads(said[said.index("{"):])
    statuses = result["statusCodeDistribution"]
    total = sum(statuses.values())
    if not total:
        raise RuntimeError("oha got no answer")
    return {
        "requests": total,
        "rps": result["summary"]["requestsPerSec"],
        "p99_us": result["latencyPercentiles"]["p99"] * 1e6,
        "failed": total - statuses.get("200", 0),
    }


def h2load(seconds, url, more=()):
    """Closed loop on HTTP/2: every stream that ended is followed by another one."""
    command = ["h2load", "-t1", f"-c{CONNECTIONS // STREAMS}", f"-m{STREAMS}", "-D", str(seconds),
               "--warm-up-time=0", *more, url]
    return read_h2load(output(command, seconds), seconds)


def read_h2load(said, seconds):
    """The figures in h2load's report; it has no percentiles."""
    statuses = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", said)
    broken = re.search(r"(\d+) errored, (\d+) timeout", said)
    if not (broken and statuses and int(statuses.group(1))):
        raise RuntimeError(f"h2load said: {said[-300:]}")
    succeeded, *others = map(int, statuses.groups())
    return {"requests": succeeded, "rps": succeeded / seconds,
            "failed": sum(others) + sum(map(int, broken.groups()))}


def grpc(seconds):
    """Calls of gRPC as far as a proxy sees them: small messages on HTTP/2, on both sides."""
    body = LAB / "run" / "grpc-message"
    body.write_bytes(GRPC_BODY)
    fields = ["-H", "content-type: application/grpc", "-H", "te: trailers", "-d", str(body)]
    return h2load(seconds, f"{H2_URL}/bench.Service/Call", fields)


def idle(pid, wrap=None, port=PORT):
    """Memory with many connections that asked once and then keep quiet."""
    before = machine.rss_mib(pid)
    with contextlib.ExitStack() as connections:
        for _ in range(IDLE_CONNECTIONS):
            connection = socket.create_connection(("127.0.0.1", port), 5)
            connection = connections.enter_context(wrap(connection) if wrap else connection)
            connection.sendall(b"GET / HTTP/1.1\r\nHost: bench\r\n\r\n")
            if not connection.recv(4096).startswith(b"HTTP/1.1 200"):
                raise RuntimeError("a connection was not answered with 200")
        time.sleep(1)
        after = machine.rss_mib(pid)
    kib = (after - before) * 1024 / IDLE_CONNECTIONS
    return {"requests": IDLE_CONNECTIONS, "failed": 0, "rss_mib": after, "kib_per_connection": kib}


def idle_tls(pid):
    """The same over TLS."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return idle(pid, context.wrap_socket, TLS_PORT)


# What is not plain HTTP/1: systems have another configuration there.
PROTOCOLS = {
    "tls": lambda options, _: wrk(options.secs, url=TLS_URL),
    "h2tls": lambda options, _: h2load(options.secs, f"{TLS_URL}/"),
    "grpc": lambda options, _: grpc(options.secs),
    "tcp": lambda options, _: wrk(options.secs, BIG_CONNECTIONS, "/big", url=TCP_URL),
    "idletls": lambda _, pid: idle_tls(pid),
}

SCENARIOS = PROTOCOLS | {
    "get": lambda options, _: wrk(options.secs),
    "hdr": lambda options, _: wrk(options.secs, script="headers.lua"),
    "post": lambda options, _: wrk(options.secs, script="post.lua"),
    "big": lambda options, _: wrk(options.secs, BIG_CONNECTIONS, "/big"),
    "rate": lambda options, _: oha(options.secs, options.rate),
    "idle": lambda _, pid: idle(pid),
}
