"""A real etcd."""

import asyncio
import os
import pathlib
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from ports import free_port  # noqa: E402


class Etcd:
    """An etcd of one member."""

    def __init__(self, folder, address="127.0.0.1", inside=()):
        self.folder = folder
        # What runs a command where it is.
        self.inside = inside
        self.url, self.peer = f"http://{address}:{free_port()}", f"http://127.0.0.1:{free_port()}"
        self.process = None

    async def start(self):
        """Starts it, with what is on its disk, and waits until it answers."""
        self.folder.mkdir(exist_ok=True)
        with open(self.folder / "log", "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.inside, "etcd", "--name", "one", "--data-dir", str(self.folder / "data"),
                "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
                "--listen-peer-urls", self.peer, "--initial-advertise-peer-urls", self.peer,
                "--initial-cluster", f"one={self.peer}",
                stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.returncode is None:
            if (await self.try_ctl("endpoint", "health"))[0] == 0:
                return
            await asyncio.sleep(0.1)
        said = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"{said[-2000:]}\netcd did not start")

    async def try_ctl(self, *arguments):
        ctl = await asyncio.create_subprocess_exec(
            *self.inside, "etcdctl", "--endpoints", self.url, *arguments, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "ETCDCTL_API": "3"})
        said, _ = await ctl.communicate()
        return ctl.returncode, said.decode()

    async def ctl(self, *arguments):
        code, said = await self.try_ctl(*arguments)
        if code != 0:
            raise RuntimeError(f"etcdctl {arguments}: {said}")
        return said

    async def lease(self, seconds):
        return (await self.ctl("lease", "grant", str(seconds))).split()[1]

    async def end(self, lease):
        """As if nobody had kept it alive."""
        await self.ctl("lease", "revoke", lease)

    async def compact(self):
        status = await self.ctl("get", "none", "-w", "json")
        await self.ctl("compact", re.search(r'"revision":(\d+)', status).group(1))

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    async def kill(self):
        self.process.kill()
        await self.process.wait()

    def forget(self):
        shutil.rmtree(self.folder / "data")

    async def stop(self):
        if self.process and self.process.returncode is None:
            self.go_on()
            await self.kill()
