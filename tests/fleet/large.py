"""10,000 endpoints from etcd: how long until a gateway has the list, and until a single change is in force, while it
serves.

python3 -B tests/fleet/large.py --binary target/release/evenkeel [--endpoints 10000] [--changes 50]
"""

import argparse
import asyncio
import base64
import http.client
import json
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from backend import Backend  # noqa: E402
from etcd import Etcd  # noqa: E402
from gateway import Gateway  # noqa: E402
from load import ask  # noqa: E402

PREFIX = "/evenkeel/clusters/web/"
# etcd takes no more in one transaction.
AT_ONCE = 100


def in_base64(text):
    """As etcd's JSON gateway takes keys and values."""
    return base64.b64encode(text.encode()).decode()


def fill(url, count, port):
    """Sets so many keys; all of them lead to one backend."""
    client = http.client.HTTPConnection(url.removeprefix("http://"))
    encoded = in_base64(json.dumps({"address": f"127.0.0.1:{port}"}))
    for first in range(0, count, AT_ONCE):
        keys = (f"{PREFIX}e{n:05}" for n in range(first, min(count, first + AT_ONCE)))
        puts = [{"request_put": {"key": in_base64(key), "value": encoded}} for key in keys]
        client.request("POST", "/v3/kv/txn", json.dumps({"success": puts}))
        answer = client.getresponse()
        text = answer.read()
        assert answer.status == 200, text


async def started(gateway):
    """How long a start takes until it is ready."""
    began = time.monotonic()
    await gateway.start()
    return time.monotonic() - began


async def changes(gateway, etcd, port, count):
    """From a put to the event that tells that the endpoint is there, for each of so many changes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.admin, limit=1 << 24)
    writer.write(b"GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    client = http.client.HTTPConnection(etcd.url.removeprefix("http://"))
    took = []
    for number in range(count):
        key = f"{PREFIX}one{number}"
        value = json.dumps({"address": f"127.0.0.1:{port}"})
        put = {"key": in_base64(key), "value": in_base64(value)}
        began = time.monotonic()
        client.request("POST", "/v3/kv/put", json.dumps(put))
        client.getresponse().read()
        async with asyncio.timeout(30):
            while f'"one{number}"'.encode() not in await reader.readline():
                pass
        took.append(time.monotonic() - began)
        await asyncio.sleep(0.1)
    writer.close()
    return took


class Traffic:
    """Requests on one connection, and how long each took."""

    def __init__(self, gateway):
        self.gateway, self.took, self.stopping = gateway, [], False

    async def run(self):
        connection = await asyncio.open_connection("127.0.0.1", self.gateway.port)
        while not self.stopping:
            began = time.monotonic()
            status, body = await ask(*connection)
            assert status == 200, body
            self.took.append(time.monotonic() - began)
            await asyncio.sleep(0.005)

    def p99(self):
        took, self.took = sorted(self.took), []
        return took[len(took) * 99 // 100] * 1000


async def run(arguments, folder):
    etcd, backend = Etcd(folder / "etcd"), Backend("one")
    await etcd.start()
    await backend.start()
    try:
        gateway = Gateway(arguments.binary, folder, "gw", etcd.url)
        empty = await started(gateway)
        await gateway.kill()
        fill(etcd.url, arguments.endpoints, backend.port)
        full = await started(gateway)
        known = len(await gateway.endpoints())
        print(f"a start without endpoints: {empty:.2f} s; with {known}: {full:.2f} s")
        traffic = Traffic(gateway)
        running = asyncio.create_task(traffic.run())
        await asyncio.sleep(5)
        before = traffic.p99()
        worked = gateway.cpu()
        took = await changes(gateway, etcd, backend.port, arguments.changes)
        worked = (gateway.cpu() - worked) / arguments.changes
        during = traffic.p99()
        traffic.stopping = True
        await running
        print(f"a change in force: median {statistics.median(took) * 1000:.0f} ms, worst {max(took) * 1000:.0f} ms; "
              f"the control thread worked {worked * 1000:.0f} ms for each")
        print(f"p99 of requests: {before:.1f} ms before, {during:.1f} ms while endpoints change")
        await gateway.stop()
        assert known == arguments.endpoints
    finally:
        await backend.stop()
        await etcd.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, help="the gateway")
    parser.add_argument("--endpoints", type=int, default=10_000)
    parser.add_argument("--changes", type=int, default=50)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evenkeel-large-") as folder:
        asyncio.run(run(arguments, pathlib.Path(folder)))


if __name__ == "__main__":
    main()
