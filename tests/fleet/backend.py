"""An endpoint that says who it is, and which gateway asked."""

import asyncio


class Backend:
    """A server that answers every request with its name."""

    def __init__(self, name):
        self.name = name
        self.port = 0
        self.server = None
        self.connections = set()

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        self.connections.add(writer)
        body = self.name.encode()
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.connections.discard(writer)
            writer.close()

    async def stop(self):
        """Dies: its connections are reset."""
        if self.server:
            self.server.close()
            for writer in list(self.connections):
                writer.transport.abort()
            self.server = None
