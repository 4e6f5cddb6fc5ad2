"""A gateway of the fleet."""

import asyncio
import json
import os
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from ports import free_port  # noqa: E402

CONFIG = """
[admin]
address = "127.0.0.1:{admin}"
[runtime]
instance = "{name}"
workers = 1
state_dir = "{state}"
[[listener]]
name = "web"
address = "127.0.0.1:{port}"
cluster = "web"
[cluster.web]
strategy = "round_robin"
[cluster.web.discovery]
type = "etcd"
endpoints = ["{etcd}"]
[cluster.judged]
endpoints = [{{ id = "{judged}", address = "127.0.0.1:{way}" }}, {{ id = "spare", address = "127.0.0.1:{spare}" }}]
health = {{ type = "tcp", interval = "100ms", hold_down = "0s" }}
[fleet]
etcd = ["{etcd}"]
share = ["admin", "health"]
"""


class Gateway:
    """A running gateway."""

    def __init__(self, binary, folder, name, etcd, way=1, spare=1):
        self.binary, self.name = binary, name
        self.file, self.log = (pathlib.Path(folder) / f"{name}.{kind}" for kind in ("toml", "log"))
        self.port, self.admin = free_port(), free_port()
        self.known = {"name": name, "admin": self.admin, "port": self.port, "etcd": etcd, "way": way, "spare": spare,
                      "state": pathlib.Path(folder) / name}
        self.judged = "one"
        self.configure()
        self.process = None
        # From before it is killed: what clients see of that is no failure of its own.
        self.is_doomed = False

    @property
    def is_up(self):
        return self.process is not None and self.process.returncode is None and not self.is_doomed

    def configure(self):
        # Renamed into place: a gateway may read it at any moment.
        beside = self.file.with_suffix(".new")
        beside.write_text(CONFIG.format(judged=self.judged, **self.known), encoding="utf-8")
        beside.rename(self.file)

    async def judge(self, judged):
        """Has another endpoint be judged, in the same place: one that is out too often is held out for longer."""
        self.judged = judged
        self.configure()
        status, text = await self.call("POST", "/api/v1/reload")
        if status != 200:
            raise RuntimeError(f"{self.name} does not reload: {text}")

    async def start(self):
        """Starts it, and waits until it is ready."""
        self.is_doomed = False
        with open(self.log, "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                self.binary, "serve", str(self.file), stdin=asyncio.subprocess.DEVNULL,
                stdout=log, stderr=log)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.is_up:
            try:
                if (await self.call("GET", "/readyz"))[0] == 200:
                    return
            except OSError:
                pass
            await asyncio.sleep(0.05)
        raise RuntimeError(f"{self.said()[-2000:]}\n{self.name} did not start")

    async def call(self, method, path, body=None):
        """A call of the admin API: its status and its text."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.admin)
        data = json.dumps(body).encode() if body else b""
        writer.write(f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
                     f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data)
        async with asyncio.timeout(60):
            answer = await reader.read()
        writer.close()
        head, _, text = answer.partition(b"\r\n\r\n")
        return int(head[9:12] or 0), text.decode()

    async def endpoints(self):
        """The ids of the endpoints that it has."""
        _, text = await self.call("GET", "/api/v1/clusters/web/endpoints")
        return sorted(endpoint["id"] for endpoint in json.loads(text))

    async def health(self):
        """How the endpoint is that it has a way of its own to, and why."""
        _, text = await self.call("GET", "/api/v1/clusters/judged/endpoints")
        endpoint = next(one for one in json.loads(text) if one["id"] == self.judged)
        return endpoint["health"], endpoint["reason"]

    async def metric(self, name):
        """The sum of a metric over its labels."""
        _, text = await self.call("GET", "/metrics")
        return sum(map(float, re.findall(rf"^evenkeel_{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)))

    def cpu(self):
        """Seconds that the control thread has worked, which other load on the machine leaves alone."""
        pid = self.process.pid
        fields = pathlib.Path(f"/proc/{pid}/task/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def said(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    async def kill(self):
        self.is_doomed = True
        self.process.kill()
        await self.process.wait()

    async def stop(self):
        if self.is_up:
            await self.kill()
