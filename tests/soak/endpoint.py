"""Endpoints that answer, die in the middle of everything, and return at the same port."""

import asyncio
import collections
import contextlib

BIG = b"x" * (256 * 1024)
PIECE_PAUSE = 0.02


class Endpoint:
    """A server that can die: its connections are reset, and its port refuses."""

    def __init__(self, name):
        self.name = name
        self.port = 0
        self.server = None
        self.connections = set()
        # How many answers were under way when it died; a client may see each of them cut.
        self.cut = 0
        self.requests = 0
        self.posts = collections.Counter()

    async def start(self):
        """Listens, from the second time on at the same port."""
        loop = asyncio.get_running_loop()
        self.server = await loop.create_server(
            lambda: Connection(self), "127.0.0.1", self.port, backlog=1024)
        self.port = self.server.sockets[0].getsockname()[1]

    def die(self):
        """Refuses from now on, and resets what is open."""
        self.server.close()
        self.cut += sum(1 for connection in self.connections if connection.answering)
        for connection in list(self.connections):
            connection.transport.abort()


class Connection(asyncio.Protocol):
    """A connection of the gateway; one request after the other."""

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.transport = None
        self.data = b""
        self.answering = None

    def connection_made(self, transport):
        self.transport = transport
        self.endpoint.connections.add(self)

    def connection_lost(self, _error):
        self.endpoint.connections.discard(self)
        if self.answering:
            self.answering.cancel()

    def data_received(self, data):
        self.data += data
        if self.answering is None:
            self.next_request()

    def next_request(self):
        """Answers a request if one is there as a whole."""
        head, end, body = self.data.partition(b"\r\n\r\n")
        if not end:
            return
        length = length_of(head)
        if len(body) < length:
            return
        self.data = body[length:]
        method, target, _ = head.split(b" ", 2)
        self.endpoint.requests += 1
        if method == b"POST":
            self.endpoint.posts[target] += 1
        self.answering = asyncio.get_running_loop().create_task(self.answer(method, target, length))

    async def answer(self, method, target, length):
        """The answer that the path asks for."""
        kind = target.split(b"/")[1]
        with contextlib.suppress(ConnectionError):
            if kind == b"slow":
                await asyncio.sleep(0.05)
            if kind == b"drip":
                await self.drip()
            else:
                body = BIG if kind == b"big" else b"%d" % length
                head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
                self.transport.write(head if method == b"HEAD" else head + body)
        self.answering = None
        if not self.transport.is_closing():
            self.next_request()

    async def drip(self):
        """A body in pieces, none of which may be held back."""
        self.transport.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(5):
            await asyncio.sleep(PIECE_PAUSE)
            self.transport.write(b"5\r\npiece\r\n")
        self.transport.write(b"0\r\n\r\n")


def length_of(head):
    """What a head says of its body's length, 0 when it says nothing."""
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0
