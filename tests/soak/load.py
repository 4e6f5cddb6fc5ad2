"""Clients: those that behave, those that leave, and those that are slow."""

import asyncio
import collections
import contextlib
import itertools
import random
import socket
import struct
import time

# How long a client waits for what must come, far longer than it takes on a busy machine.
PATIENCE = 60
# How long an endpoint that is back may still be left alone, in seconds.
AFTER = 1.5
KEPT = 32
SLOW = 6
KINDS = [("GET", "small", 60), ("GET", "slow", 6), ("GET", "drip", 2), ("GET", "big", 4),
         ("HEAD", "small", 3), ("PUT", "small", 8), ("DELETE", "small", 2), ("POST", "small", 12),
         ("LEAVE", "", 3)]
BODIES = {"PUT": b"p" * 20_000, "POST": b"o" * 1024}
REPEATABLE = {"GET", "HEAD", "PUT", "DELETE"}


class Broken(Exception):
    """An answer that did not come, or not as a whole; `begun` says which."""

    def __init__(self, begun):
        super().__init__("cut" if begun else "none")
        self.begun = begun


class Load:
    """What clients ask, and what they saw."""

    def __init__(self, port, rate):
        self.port = port
        self.pause = KEPT / rate
        self.numbers = itertools.count()
        self.count = collections.Counter()
        self.failed = collections.Counter()
        # When each endpoint that died was back; none: not yet.
        self.deaths = []
        self.stopping = False

    async def run(self, seconds):
        """Asks for so long, and lets everybody finish."""
        self.stopping = False
        clients = [self.client() for _ in range(KEPT)]
        clients += [self.slow_reader() for _ in range(SLOW)]
        clients += [self.slow_sender() for _ in range(SLOW)]
        running = asyncio.gather(*clients)
        # A mistake in here ends the run, not only one of its clients.
        await asyncio.wait([running], timeout=seconds)
        self.stopping = True
        await running

    async def client(self):
        """A client on a kept connection that asks for anything, at its share of the rate."""
        loop = asyncio.get_running_loop()
        connection, due = None, loop.time() + random.random() * self.pause
        while not self.stopping:
            due = max(due + random.expovariate(1 / self.pause), loop.time() - 1)
            await asyncio.sleep(max(0, due - loop.time()))
            [(method, kind, _)] = random.choices(KINDS, [kind[2] for kind in KINDS])
            if method == "LEAVE":
                await self.leave()
                continue
            connection = connection or await self.connect()
            if not await self.ask(connection, method, kind):
                connection[1].transport.abort()
                connection = None
        if connection:
            connection[1].close()

    async def connect(self, **options):
        """A connection to the gateway; that it takes connections is not in question."""
        return await asyncio.open_connection("127.0.0.1", self.port, **options)

    async def ask(self, connection, method, kind):
        """One request and its answer; whether the connection can be used again."""
        self.count[method] += 1
        begin = time.monotonic()
        reader, writer = connection
        target = f"/{kind}/{next(self.numbers)}"
        try:
            writer.write(request(method, target))
            async with asyncio.timeout(PATIENCE):
                status, why, goes_on = await read_answer(reader, method)
        except TimeoutError:
            self.failed[f"{method} without an answer for {PATIENCE} s"] += 1
            return False
        except Broken as broken:
            self.note_broken(method, broken)
            return False
        if status != 200:
            self.note_failure(f"{method} {status} {why}", begin)
        return goes_on

    def note_failure(self, what, begin):
        """A request that two endpoints died under, or more, may have been to all that were left: one
        is not in the variant, one is ejected for an earlier death."""
        struck = sum(back is None or back > begin - AFTER for back in self.deaths)
        if struck > 1:
            self.count["struck twice"] += 1
        else:
            self.failed[what] += 1

    def note_broken(self, method, broken):
        """An answer that was cut is its endpoint's end; one that never began is the gateway's."""
        if broken.begun:
            self.count["cut"] += 1
        else:
            self.failed[f"{method} closed"] += 1

    async def leave(self):
        """Sends a request, or a part of one, and goes away: in order, or with a reset."""
        self.count["left"] += 1
        _, writer = await self.connect()
        method, kind = random.choice([("GET", "big"), ("GET", "slow"), ("PUT", "small")])
        whole = request(method, f"/{kind}/{next(self.numbers)}")
        writer.write(whole[:random.choice([len(whole), random.randrange(len(whole))])])
        await asyncio.sleep(random.random() * 0.06)
        if random.random() < 0.5:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async def slow_reader(self):
        """Reads large answers far more slowly than they come."""
        while not self.stopping:
            self.count["read slowly"] += 1
            reader, writer = await self.connect(limit=4096)
            writer.write(request("GET", "/big/0"))
            with contextlib.suppress(OSError):
                for _ in range(20):
                    if not await reader.read(8192):
                        break
                    await asyncio.sleep(0.03)
            writer.transport.abort()

    async def slow_sender(self):
        """Sends a body in drops and wants its answer all the same."""
        while not self.stopping:
            self.count["sent slowly"] += 1
            reader, writer = await self.connect()
            begin = time.monotonic()
            head = f"PUT /small/{next(self.numbers)} HTTP/1.1\r\nHost: soak\r\n"
            writer.write(f"{head}Content-Length: 20\r\n\r\n".encode())
            with contextlib.suppress(ConnectionError):
                for _ in range(20):
                    await asyncio.sleep(0.05)
                    writer.write(b"d")
            try:
                async with asyncio.timeout(PATIENCE):
                    status, why, _ = await read_answer(reader, "PUT")
                if status != 200:
                    self.note_failure(f"PUT sent slowly {status} {why}", begin)
            except (Broken, TimeoutError) as error:
                self.failed[f"PUT sent slowly {error!r}"] += 1
            writer.transport.abort()

    def lost(self):
        """Failures of requests that may be sent again, by kind."""
        return {what: n for what, n in self.failed.items() if what.split()[0] in REPEATABLE}


def request(method, target):
    """The bytes of a request."""
    body = BODIES.get(method, b"")
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {target} HTTP/1.1\r\nHost: soak\r\n{length}\r\n".encode() + body


async def read_answer(reader, method):
    """Reads an answer: its status, what the gateway says of it, and whether the connection goes on."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
    except (asyncio.IncompleteReadError, OSError) as error:
        raise Broken(bool(getattr(error, "partial", b""))) from None
    try:
        await read_body(reader, head, method)
    except (asyncio.IncompleteReadError, OSError):
        raise Broken(True) from None
    why = head.partition(b"\r\nproxy-status: ")[2].partition(b"\r\n")[0].decode()
    return int(head[9:12]), why, b"\r\nconnection: close" not in head


async def read_body(reader, head, method):
    """Reads past a body of a length or in chunks."""
    if method == "HEAD":
        return
    if b"\r\ntransfer-encoding: chunked" in head:
        while size := int(await reader.readuntil(b"\r\n"), 16):
            await reader.readexactly(size + 2)
        await reader.readexactly(2)
        return
    for line in head.split(b"\r\n"):
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line.split(b":")[1]))
