"""The network between the gateways and etcd, which can be cut: packets vanish, and nobody is told."""

import asyncio
import os
import shutil


class Namespace:
    """A network namespace for etcd, and a pair of interfaces that leads to it."""

    def __init__(self):
        # Of the network that is set aside for tests (RFC 2544), and other ones for each run.
        pid = os.getpid()
        first = pid // 256 % 64 * 4
        self.host, self.address = (f"198.18.{pid % 256}.{first + n}" for n in (1, 2))
        self.name, self.near, self.far = (f"{what}{pid}" for what in ("ek-fleet-", "ekn", "ekf"))
        self.inside = ("ip", "netns", "exec", self.name)

    async def open(self):
        await call("ip", "netns", "add", self.name)
        try:
            await call("ip", "link", "add", self.near, "type", "veth", "peer", "name", self.far, "netns", self.name)
            await call("ip", "addr", "add", f"{self.host}/30", "dev", self.near)
            await call(*self.inside, "ip", "addr", "add", f"{self.address}/30", "dev", self.far)
            await call(*self.inside, "ip", "link", "set", "lo", "up")
            await call("ip", "link", "set", self.near, "up")
            await self.mend()
        except RuntimeError:
            await self.close()
            raise

    async def outside(self, url):
        """Where gateways reach what listens in it."""
        return url

    async def cut(self):
        await call(*self.inside, "ip", "link", "set", self.far, "down")

    async def mend(self):
        await call(*self.inside, "ip", "link", "set", self.far, "up")

    async def close(self):
        await call("ip", "netns", "del", self.name)


class Relay:
    """A relay on loopback that can freeze: connections stay and are taken, and nothing passes."""

    address, inside = "127.0.0.1", ()

    def __init__(self):
        self.flows = asyncio.Event()
        self.flows.set()
        self.server, self.tasks = None, set()

    async def open(self):
        """Nothing is listened on before it is known what is behind it."""

    async def outside(self, url):
        target = int(url.rsplit(":", 1)[1])

        async def serve(*client):
            await self.flows.wait()
            server = await asyncio.open_connection("127.0.0.1", target)
            await asyncio.gather(self.pass_on(client[0], server[1]), self.pass_on(server[0], client[1]))

        self.server = await asyncio.start_server(lambda *client: self.keep(serve(*client)), "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    def keep(self, serving):
        task = asyncio.create_task(serving)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        # A peer that left is no mistake.
        task.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def pass_on(self, reader, writer):
        try:
            while data := await reader.read(1 << 16):
                await self.flows.wait()
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def cut(self):
        self.flows.clear()

    async def mend(self):
        self.flows.set()

    async def close(self):
        self.server.close()
        for task in list(self.tasks):
            task.cancel()


async def network(relay=False):
    """A namespace; or a relay, if it is asked for or, with a line that says so, no namespace can be made."""
    try:
        if relay:
            raise RuntimeError("by --relay")
        if not shutil.which("ip"):
            raise RuntimeError("ip is not installed (Debian's package iproute2)")
        namespace = Namespace()
        await namespace.open()
        return namespace
    except RuntimeError as error:
        print(f"NOT TESTED: etcd in a network namespace ({error}); a relay that freezes stands for the cut", flush=True)
        relay = Relay()
        await relay.open()
        return relay


async def call(*command):
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
    _, said = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {said.decode().strip()}")
