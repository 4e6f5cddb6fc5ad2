"""The endpoint behind the gateway: says what it received, and answers in every way that clients know."""

import asyncio
import hashlib
import logging
import sys

from aiohttp import WSMsgType, web

LARGE_PIECE = bytes(range(256)) * 256
LARGE_PIECES = 512
EVENTS = 5
# Together far longer than a busy client may be late with reading the first one.
EVENT_PAUSE = 0.5
NAME = sys.argv[1]


async def echo(request):
    """What arrived: method, path, fields, framing, and the body by its length and hash."""
    body = await request.read()
    # Its port tells connections of the gateway apart.
    port = request.transport.get_extra_info("peername")[1]
    return web.json_response({
        "endpoint": NAME, "connection": port, "method": request.method,
        "path": request.path_qs, "fields": {k.lower(): v for k, v in request.headers.items()},
        "chunked": request.headers.get("Transfer-Encoding") == "chunked",
        "length": len(body), "sha256": hashlib.sha256(body).hexdigest(),
    })


async def events(request):
    """Server-sent events, one after the other."""
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await answer.prepare(request)
    for number in range(EVENTS):
        await answer.write(f"id: {number}\ndata: event {number}\n\n".encode())
        await asyncio.sleep(EVENT_PAUSE)
    return answer


async def large(request):
    """32 MiB, with a length or in chunks."""
    answer = web.StreamResponse()
    if "chunked" in request.query:
        answer.enable_chunked_encoding()
    else:
        answer.content_length = len(LARGE_PIECE) * LARGE_PIECES
    await answer.prepare(request)
    for _ in range(LARGE_PIECES if request.method == "GET" else 0):
        await answer.write(LARGE_PIECE)
    return answer


async def cookie(request):
    """Two cookies at once, and the one that came."""
    answer = web.json_response({"came": request.headers.get("Cookie", "")})
    answer.set_cookie("first", "1", path="/")
    answer.set_cookie("second", "2", path="/")
    return answer


async def socket(request):
    """A WebSocket that sends back what it gets."""
    connection = web.WebSocketResponse(max_msg_size=64 << 20)
    await connection.prepare(request)
    async for message in connection:
        if message.type == WSMsgType.TEXT:
            await connection.send_str(message.data)
        elif message.type == WSMsgType.BINARY:
            await connection.send_bytes(message.data)
    return connection


async def moved(_request):
    """A redirect by the endpoint."""
    raise web.HTTPSeeOther("/echo?moved")


async def refuse(_request):
    """Never asked: what is expected is refused."""
    return web.Response(status=500)


async def no(_request):
    """To `Expect: 100-continue`: a final answer, and no body is wanted."""
    return web.Response(status=417, text="not expected")


async def page(_request):
    """A page of the same origin, for a browser's scripts."""
    return web.Response(text="<!doctype html><title>clients</title>", content_type="text/html")


def main():
    """Listens on the port that was given."""
    # Some clients leave in the middle, which is none of its mistakes.
    logging.disable(logging.ERROR)
    app = web.Application(client_max_size=1 << 30)
    app.router.add_get("/events", events)
    app.router.add_get("/large", large)
    app.router.add_get("/cookie", cookie)
    app.router.add_get("/socket", socket)
    app.router.add_get("/moved", moved)
    app.router.add_get("/page", page)
    app.router.add_post("/refuse", refuse, expect_handler=no)
    app.router.add_route("*", "/{path:.*}", echo)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[2]), print=None)


if __name__ == "__main__":
    main()
