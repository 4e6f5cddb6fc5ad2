"""Peers on loopback for measurements: endpoints that answer with two bytes, clients that wait for nothing, and a
gateway between them."""

import contextlib
import pathlib
import socket
import subprocess
import tempfile

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
HEAD = '[[listener]]\naddress = "127.0.0.1:0"\ncluster = "web"\n'


def serve(connection, answer=ANSWER):
    """Answers each request of a connection."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection, contextlib.suppress(OSError):
        data = b""
        while got := connection.recv(65536):
            data += got
            while b"\r\n\r\n" in data:
                data = data.split(b"\r\n\r\n", 1)[1]
                connection.sendall(answer)


def ask(client):
    """One request on a kept connection."""
    client.sendall(REQUEST)
    data = b""
    while not data.endswith(b"\r\n\r\nok"):
        got = client.recv(65536)
        assert got, data
        data += got
    assert data.startswith(b"HTTP/1.1 200"), data


def connect(address):
    """A connection that waits for nothing."""
    client = socket.create_connection(address)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


@contextlib.contextmanager
def gateway(command, text):
    """A gateway of that configuration: its process, where it listens, and the address of its API if it has one. It takes
    free ports and says which, so that nobody can be there before it."""
    with tempfile.TemporaryDirectory() as folder:
        config, log = pathlib.Path(folder, "c.toml"), pathlib.Path(folder, "log")
        config.write_text(text)
        with open(log, "wb") as errors:
            process = subprocess.Popen([*command, "serve", config], stdout=subprocess.PIPE, stderr=errors, text=True)
        wanted = {"listening on "} | ({"admin on "} if "[admin]" in text else set())
        found = {}
        try:
            while found.keys() != wanted:
                line = process.stdout.readline()
                assert line, f"the gateway did not start: {log.read_text(errors='replace')[-2000:]}"
                for words in wanted:
                    if line.startswith(words):
                        host, port = line.removeprefix(words).split()[0].rsplit(":", 1)
                        found[words] = (host, int(port))
            yield process, found["listening on "], found.get("admin on ")
        finally:
            process.kill()
            process.wait()
