"""The gateway under test: its configurations, its life, and what it says of itself."""

import asyncio
import json
import os
import pathlib
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from ports import free_port  # noqa: E402

CLUSTER = """
[cluster.{name}]
strategy = "{strategy}"
endpoints = [{endpoints}]
[cluster.{name}.retry]
attempts = 3
budget = {{ ratio = 1.0, per_second = 1000 }}
[cluster.{name}.timeout]
connect = "5s"
pool_idle = "1s"
"""
# Variants of the configuration by turns: who serves, by which strategy, and by which routes.
VARIANTS = [
    ("abcd", "least_request", ""),
    ("abc", "round_robin", '[[listener.route]]\npath = "/slow"\ncluster = "second"\n'),
    ("bcd", "peak_ewma", '[[listener.route]]\nmethods = ["PUT"]\ncluster = "second"\n'),
    ("acd", "least_request", '[[listener.route]]\npath = "/"\n'
                             'clusters = { web = 50, second = 50 }\n'),
]


class Gateway:
    """A running gateway."""

    def __init__(self, binary, folder, endpoints):
        self.binary, self.endpoints = binary, endpoints
        self.file = pathlib.Path(folder) / "soak.toml"
        self.log = pathlib.Path(folder) / "log"
        self.port, self.admin = free_port(), free_port()
        self.process = None
        self.reloads = 0

    def write(self, variant):
        """Puts a variant into the file, at once."""
        names, strategy, routes = variant
        quoted = [f'{{ id = "{e.name}", address = "127.0.0.1:{e.port}" }}'
                  for e in self.endpoints if e.name in names]
        text = (f'[admin]\naddress = "127.0.0.1:{self.admin}"\n[runtime]\ndrain_timeout = "5s"\n'
                f'[[listener]]\nname = "web"\naddress = "127.0.0.1:{self.port}"\ncluster = "web"\n{routes}')
        clusters = (CLUSTER.format(name=name, strategy=strategy, endpoints=", ".join(quoted))
                    for name in ("web", "second"))
        draft = self.file.with_suffix(".new")
        draft.write_text(text + "".join(clusters), encoding="utf-8")
        draft.replace(self.file)

    async def start(self):
        """Starts it, and waits until it is ready."""
        self.write(VARIANTS[0])
        with open(self.log, "wb") as log:
            self.process = await asyncio.create_subprocess_exec(
                self.binary, "serve", str(self.file), stdin=asyncio.subprocess.DEVNULL,
                stdout=log, stderr=log)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.returncode is None:
            try:
                if (await self.call("GET", "/readyz"))[0] == 200:
                    return
            except OSError:
                pass
            await asyncio.sleep(0.05)
        raise RuntimeError(f"{self.said()[-2000:]}\nthe gateway did not start")

    async def reload(self):
        """Puts the next variant in force."""
        self.reloads += 1
        self.write(VARIANTS[self.reloads % len(VARIANTS)])
        status, body = await self.call("POST", "/api/v1/reload")
        if status != 200:
            raise RuntimeError(f"a reload was refused: {status} {body}")

    async def call(self, method, path, body=None):
        """A call of the admin API: its status and its text."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.admin)
        data = json.dumps(body).encode() if body else b""
        kind = "content-type: application/json\r\n" if body else ""
        writer.write(f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{kind}"
                     f"content-length: {len(data)}\r\n\r\n".encode() + data)
        async with asyncio.timeout(60):
            answer = await reader.read()
        writer.close()
        head, _, text = answer.partition(b"\r\n\r\n")
        return int(head[9:12] or 0), text.decode()

    async def metric(self, name):
        """The sum of a metric over its labels."""
        _, text = await self.call("GET", "/metrics")
        values = re.findall(rf"^evenkeel_{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
        return sum(map(float, values))

    def descriptors(self):
        """How many descriptors it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory_mib(self):
        """Its resident memory."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024

    def said(self):
        """Its log."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    async def stop(self):
        """Lets it end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return await asyncio.wait_for(self.process.wait(), 60)
        except TimeoutError:
            self.process.kill()
            return await self.process.wait()
