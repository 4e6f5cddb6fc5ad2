#!/usr/bin/env python3
"""Real clients against `evenkeel serve`: brings them in where they are missing, starts two endpoints
and a gateway, and runs each client.

    run.py --binary target/debug/evenkeel --room target/clients
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from ports import free_port  # noqa: E402

WHEELS = ["aiohttp==3.14.5", "grpcio==1.85.3", "requests==2.34.2"]
PACKAGES = ["undici@7.30.2", "playwright-core@1.65.1"]
PROGRAMS = {"curl": "curl", "node": "nodejs", "npm": "npm", "chromium": "chromium",
            "openssl": "openssl"}
CONFIG = """
[log]
level = "error"
access = {{ path = "{log}" }}
[[listener]]
name = "plain"
address = "127.0.0.1:{port}"
cluster = "web"
  [[listener.route]]
  path = "/secure"
  redirect = {{ scheme = "https" }}
  [[listener.route]]
  path = "/sticky"
  cluster = "sticky"
[[listener]]
name = "tls"
address = "127.0.0.1:{tls_port}"
cluster = "web"
tls = [{{ certificate = "{certificate}", key = "{key}" }}]
  [[listener.route]]
  path = "/sticky"
  cluster = "sticky"
[[listener]]
name = "grpc"
address = "127.0.0.1:{grpc_port}"
cluster = "grpc"
[cluster.web]
endpoints = [{endpoints}]
[cluster.sticky]
strategy = "round_robin"
endpoints = [{endpoints}]
[cluster.sticky.sticky]
cookie = "ek"
[cluster.grpc]
strategy = "round_robin"
protocol = "http2"
endpoints = [{grpc_endpoints}]
"""


def install(room):
    """Brings in what is missing; nothing when all is there."""
    missing = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
    if missing and os.geteuid() != 0:
        sys.exit(f"clients: missing programs; run: sudo apt-get install {' '.join(missing)}")
    if missing:
        run(["apt-get", "update", "-qq"])
        run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=subprocess.DEVNULL)
    room.mkdir(parents=True, exist_ok=True)
    # What a run left unfinished has no mark, and is made again.
    mark, wanted = room / "installed", "\n".join(WHEELS + PACKAGES)
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return
    run([sys.executable, "-m", "venv", "--clear", str(room / "venv")])
    run([str(room / "venv/bin/pip"), "install", "--quiet", *WHEELS])
    run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-save", "--prefix", str(room),
         *PACKAGES])
    mark.write_text(wanted, encoding="utf-8")


def run(command, **options):
    """Runs a command to its end, which must be a good one."""
    subprocess.run(command, stdin=subprocess.DEVNULL, timeout=900, check=True, **options)


def wait_for(port, process):
    """Waits until something listens there."""
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    sys.exit(f"clients: {process.args[0]} did not start")


@contextlib.contextmanager
def running(command, port):
    """A program that listens on a port, for as long as the context lasts."""
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
    try:
        wait_for(port, process)
        yield process
        if process.poll() is not None:
            sys.exit(f"clients: {command[0]} ended with {process.returncode}")
    finally:
        process.terminate()
        process.wait(60)


@contextlib.contextmanager
def all_running(commands):
    """Programs that listen on ports, in this order."""
    with contextlib.ExitStack() as stack:
        for command, port in commands:
            stack.enter_context(running(command, port))
        yield


def addresses(ports):
    """Addresses as a list of endpoints has them."""
    return ", ".join(f'"127.0.0.1:{port}"' for port in ports)


def make_certificate(room):
    """A certificate that nobody signed, and its key."""
    certificate, key = room / "cert.pem", room / "key.pem"
    run(["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", str(certificate), "-keyout", str(key)],
        stderr=subprocess.DEVNULL)
    return certificate, key


def clients(url, tls_port, grpc_port, room, log):
    """The commands that run the clients."""
    browser = ["node", str(HERE / "browser.mjs")]
    over_tls = f"https://127.0.0.1:{tls_port}"
    python = [str(room / "venv/bin/python"), "-B"]
    return {
        "curl": ["bash", str(HERE / "curl.sh"), url, str(room)],
        "python": [*python, str(HERE / "python_clients.py"), url],
        "grpc": [*python, str(HERE / "grpc_pair.py"), "call", f"127.0.0.1:{grpc_port}"],
        "node": ["node", "--no-warnings", str(HERE / "node.mjs"), url, str(room)],
        "browser": [*browser, url, str(room), shutil.which("chromium"), str(log)],
        "browser-http2": [*browser, over_tls, str(room), shutil.which("chromium"), str(log)],
    }


def main():
    """Runs all clients, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--binary", required=True, type=pathlib.Path)
    parser.add_argument("--room", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    room, binary = arguments.room.resolve(), arguments.binary.resolve()
    install(room)
    port, tls_port, grpc_port = free_port(), free_port(), free_port()
    web, grpc = {free_port(): "a", free_port(): "b"}, {free_port(): "a", free_port(): "b"}
    config, log = room / "clients.toml", room / "access.jsonl"
    log.unlink(missing_ok=True)
    certificate, key = make_certificate(room)
    config.write_text(CONFIG.format(port=port, tls_port=tls_port, grpc_port=grpc_port, log=log,
                                    certificate=certificate, key=key, endpoints=addresses(web),
                                    grpc_endpoints=addresses(grpc)), encoding="utf-8")
    python = [room / "venv/bin/python", "-B"]
    endpoints = [([*python, HERE / "backend.py", name, each], each) for each, name in web.items()]
    endpoints += [([*python, HERE / "grpc_pair.py", "serve", name, each], each)
                  for each, name in grpc.items()]
    environment = {name: value for name, value in os.environ.items()
                   if not name.lower().endswith("_proxy")}
    with all_running([*endpoints, ([binary, "serve", config], port)]):
        wanted = clients(f"http://127.0.0.1:{port}", tls_port, grpc_port, room, log)
        for name, command in wanted.items():
            if not arguments.only or name in arguments.only.split(","):
                try:
                    run(command, env=environment)
                except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                    why = getattr(error, "returncode", "no end in sight")
                    sys.exit(f"clients: {name} failed ({why}): why is said in the lines before")


if __name__ == "__main__":
    main()
