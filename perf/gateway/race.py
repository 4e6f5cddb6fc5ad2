#!/usr/bin/env python3
"""The race for a kept connection: an endpoint closes what was idle for a moment, just as the next
request is on its way. Counts what clients see of it, through ours and through rivals.

    race.py --binary target/release/evenkeel [--only evenkeel,nginx-full] [--requests 3000]
"""

import argparse
import collections
import contextlib
import dataclasses
import random
import shlex
import socket
import threading
import time

import proxies
from proxies import BACKENDS, PORT, RIVALS, System

BODY = b"b" * 100
IDLE_MS = (0.1, 3.0)
PAUSE_MS = (0.0, 3.0)


class Impatient:
    """An endpoint that closes a connection after a random while without a request."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.seen = collections.Counter()
        self.listener = socket.create_server((host, int(port)), backlog=64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        """Takes connections until the listener is closed."""
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        """Answers requests; the first one may take its time."""
        connection.settimeout(5)
        with connection, contextlib.suppress(OSError):
            while request := read_message(connection):
                self.seen[request.split(b" ", 2)[1]] += 1
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                connection.settimeout(random.uniform(*IDLE_MS) / 1000)

    def close(self):
        """Takes no more connections."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def read_message(connection):
    """A message with its body, or nothing at the end of the connection."""
    data = b""
    while True:
        head, end, body = data.partition(b"\r\n\r\n")
        if end and len(body) >= length_of(head):
            return data
        more = connection.recv(65536)
        if not more:
            return b""
        data += more


def length_of(head):
    """What a head says of its body's length."""
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


def ask(method, requests):
    """Sends requests over one connection with pauses between them; counts how they ended."""
    ended = collections.Counter()
    connection = None
    for number in range(requests):
        time.sleep(random.uniform(*PAUSE_MS) / 1000)
        if connection is None:
            connection = socket.create_connection(("127.0.0.1", PORT))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(10)
        body = BODY if method == "POST" else b""
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        head = f"{method} /{number} HTTP/1.1\r\nHost: race\r\n{length}\r\n".encode()
        answer = b""
        with contextlib.suppress(OSError):
            connection.sendall(head + body)
            answer = read_message(connection)
        ended[answer[9:12].decode() or "closed"] += 1
        if not answer or b"connection: close" in answer.lower():
            connection.close()
            connection = None
    return ended


def measure(system, method, requests):
    """One row: how many failed, in which way, and how many came twice."""
    endpoint = Impatient(BACKENDS[0])
    try:
        with proxies.running(system):
            endpoint.seen.clear()
            ended = ask(method, requests)
    finally:
        endpoint.close()
    doubled = sum(1 for times in endpoint.seen.values() if times > 1)
    failed = {how: count for how, count in ended.items() if how != "200"}
    return {"system": system.name, "method": method, "requests": requests,
            "failed": sum(failed.values()), "how": failed, "doubled": doubled}


def systems(binary, only):
    """Ours and the rivals, each with one endpoint."""
    program = shlex.quote(str(binary))
    ours = System("evenkeel", f"{program} serve --listen 127.0.0.1:{PORT} --to {BACKENDS[0]} "
                  "--workers 1")
    one = {"nginx-full": f"server {BACKENDS[0]};", "haproxy-2.6": f"server s0 {BACKENDS[0]}"}
    rivals = [dataclasses.replace(RIVALS[name], servers=servers) for name, servers in one.items()]
    return [system for system in [ours, *rivals] if not only or system.name in only]


def main():
    """Prints a row for each system and method."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--binary", default="target/release/evenkeel")
    parser.add_argument("--only", default="")
    parser.add_argument("--requests", type=int, default=3000)
    arguments = parser.parse_args()
    only = [name for name in arguments.only.split(",") if name]
    for system in systems(proxies.pathlib.Path(arguments.binary).resolve(), only):
        for method in ("GET", "POST"):
            row = measure(system, method, arguments.requests)
            how = ", ".join(f"{count} x {name}" for name, count in sorted(row["how"].items()))
            print(f"{row['system']:14}{row['method']:6}{row['requests']:6} requests "
                  f"{row['failed']:5} failed ({how or 'none'}), {row['doubled']} doubled",
                  flush=True)


if __name__ == "__main__":
    main()
