"""Python's clients against the gateway: http.client, urllib, requests, aiohttp."""

import asyncio
import hashlib
import http.client
import json
import os
import sys
import time
import urllib.request

import aiohttp
import requests

URL = sys.argv[1]
HOST = URL.removeprefix("http://")
BODY = os.urandom(2_000_000)
HASH = hashlib.sha256(BODY).hexdigest()
LARGE = 32 << 20


def pieces():
    """The body in pieces, for uploads without a length."""
    for start in range(0, len(BODY), 100_000):
        yield BODY[start:start + 100_000]


def with_http_client():
    """The standard library's own, on one connection."""
    connection = http.client.HTTPConnection(HOST, timeout=60)
    connection.request("GET", "/first")
    first = json.load(connection.getresponse())
    socket = connection.sock
    connection.request("POST", "/post", BODY)
    assert json.load(connection.getresponse())["sha256"] == HASH
    connection.request("PUT", "/put", pieces(), encode_chunked=True,
                       headers={"Transfer-Encoding": "chunked"})
    seen = json.load(connection.getresponse())
    assert (seen["sha256"], seen["chunked"]) == (HASH, True)
    connection.request("HEAD", "/large")
    answer = connection.getresponse()
    assert (answer.status, int(answer.getheader("Content-Length")), answer.read()) == (200, LARGE, b"")
    assert connection.sock is socket, "one connection for all"
    assert first["fields"]["x-forwarded-for"] == "127.0.0.1" and first["fields"]["host"] == HOST
    connection.close()


def with_urllib():
    """It closes after each request and follows redirects."""
    with urllib.request.urlopen(f"{URL}/moved", timeout=60) as answer:
        assert json.load(answer)["path"] == "/echo?moved"


def with_requests():
    """A session with its pool and its cookies."""
    with requests.Session() as session:
        session.trust_env = False
        endpoints = {session.get(f"{URL}/sticky", timeout=60).json()["endpoint"] for _ in range(10)}
        assert len(endpoints) == 1 and "ek" in session.cookies, "affinity by cookie"
        session.get(f"{URL}/cookie", timeout=60)
        came = session.get(f"{URL}/cookie", timeout=60).json()["came"]
        assert "first=1" in came and "second=2" in came, came
        assert session.post(f"{URL}/post", data=BODY, timeout=60).json()["sha256"] == HASH
        assert session.post(f"{URL}/post", data=pieces(), timeout=60).json()["chunked"]
        assert session.get(f"{URL}/secure", timeout=60, allow_redirects=False).status_code == 308
        answer = session.get(f"{URL}/large", timeout=60, stream=True)
        assert sum(map(len, answer.iter_content(1 << 16))) == LARGE
        # An answer that is left in the middle ends its connection; the next request has another.
        session.get(f"{URL}/large", timeout=60, stream=True).close()
        assert session.get(f"{URL}/after", timeout=60).status_code == 200


async def with_aiohttp():
    """Many requests at once, events, and a WebSocket."""
    async with aiohttp.ClientSession(URL, connector=aiohttp.TCPConnector(limit=20)) as session:
        async def one(number):
            async with session.post("/many", data=str(number)) as answer:
                return (await answer.json())["length"]
        lengths = await asyncio.gather(*(one(number) for number in range(300)))
        assert lengths == [len(str(number)) for number in range(300)]
        async with session.post("/refuse", data=BODY, expect100=True) as answer:
            assert answer.status == 417
        async with session.post("/post", data=BODY, expect100=True) as answer:
            assert (await answer.json())["sha256"] == HASH
        await read_events(session)
        async with session.ws_connect("/socket") as socket:
            for message in ["text", "ü" * 40_000, ""]:
                await socket.send_str(message)
                assert await socket.receive_str(timeout=60) == message
            await socket.send_bytes(BODY)
            assert await socket.receive_bytes(timeout=60) == BODY
            await socket.ping()


async def read_events(session):
    """Events come one by one, not all at the end."""
    times = []
    async with session.get("/events") as answer:
        async for line in answer.content:
            if line.startswith(b"data:"):
                times.append(time.monotonic())
    assert len(times) == 5 and times[-1] - times[0] > 0.3, times


def main():
    """All of them, by turns."""
    with_http_client()
    with_urllib()
    with_requests()
    asyncio.run(with_aiohttp())
    print(f"python: ok (http.client and urllib {sys.version.split()[0]}, "
          f"requests {requests.__version__}, aiohttp {aiohttp.__version__})")


if __name__ == "__main__":
    main()
