"""Clients that ask all gateways on and on, as those behind a balancer of connections would: when a gateway dies they
ask another one."""

import asyncio
import collections
import time

# Nothing is judged by it: a request that is never answered is a failure.
PATIENCE = 60


class Load:
    """What clients ask, and who answered."""

    def __init__(self, gateways, rate):
        self.gateways = gateways
        self.pause = len(gateways) / rate
        self.count = 0
        self.elsewhere = 0
        self.failed = []
        self.stopping = False
        # When each gateway first and last sent a request to each endpoint since it was asked for.
        self.first = collections.defaultdict(dict)
        self.last = {}

    def mark(self, name):
        """From now on the first request to this endpoint is noted."""
        self.first[name] = {}

    async def run(self):
        """Asks until it is told to stop."""
        await asyncio.gather(*(self.client(gateway) for gateway in self.gateways))

    async def client(self, gateway):
        due = time.monotonic()
        connection = None
        while not self.stopping:
            due = max(due + self.pause, time.monotonic() - 1)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            self.count += 1
            try:
                connection = connection or await asyncio.open_connection("127.0.0.1", gateway.port)
                async with asyncio.timeout(PATIENCE):
                    status, body = await ask(*connection)
                self.note(gateway, status, body)
                continue
            except (OSError, EOFError, TimeoutError) as error:
                if connection:
                    connection[1].transport.abort()
                connection = None
                if gateway.is_up and not isinstance(error, ConnectionError):
                    self.failed.append(f"{gateway.name}: {error!r}")
                    continue
            await self.ask_elsewhere(gateway)

    async def ask_elsewhere(self, gone):
        """A gateway died: the request goes to the others, of which one must answer."""
        self.elsewhere += 1
        for gateway in self.gateways:
            if gateway is gone or not gateway.is_up:
                continue
            try:
                async with asyncio.timeout(PATIENCE):
                    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
                    status, body = await ask(reader, writer)
                    writer.close()
                self.note(gateway, status, body)
                return
            except (OSError, EOFError, TimeoutError) as error:
                self.failed.append(f"{gateway.name}, asked instead of {gone.name}: {error!r}")
                return
        self.failed.append("no gateway was left")

    def note(self, gateway, status, body):
        if status != 200:
            self.failed.append(f"{gateway.name}: {status} {body[:200]}")
            return
        now = time.monotonic()
        self.first[body].setdefault(gateway.name, now)
        self.last[(gateway.name, body)] = now


async def ask(reader, writer):
    """One request: its status and the name of who answered."""
    writer.write(b"GET / HTTP/1.1\r\nhost: web\r\n\r\n")
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(next(line.split(b":")[1] for line in head.split(b"\r\n")
                      if line.lower().startswith(b"content-length:")))
    body = await reader.readexactly(length)
    return int(head[9:12]), body.decode()
