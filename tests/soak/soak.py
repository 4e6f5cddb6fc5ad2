#!/usr/bin/env python3
"""Soak: load with clients that leave and clients that are slow, endpoints that die and return, and
reloads, for a long while. Then everything must be as it was.

    soak.py --binary target/release/evenkeel --seconds 1200 [--rate 1000]
"""

import argparse
import asyncio
import pathlib
import random
import sys
import tempfile
import time

from endpoint import Endpoint
from gateway import Gateway
from load import Load

NAMES = "abcd"
# What memory may grow by: allocators keep some of what was used at the busiest moment, and up to
# 10,000 receipts stay. How much of the growth that was seen is theirs has not been shown.
MEMORY_FACTOR, MEMORY_MIB = 1.3, 24
SETTLE_SECONDS = 120
# How long an endpoint that died is away, in seconds.
DYING = 1.5


async def trouble(gateway, endpoints, load, count):
    """Until it is cancelled: endpoints die and return one by one, the configuration changes, an
    operator drains."""
    while True:
        await asyncio.sleep(random.uniform(0.3, 1.5))
        what = random.choice(["death", "reload", "reload", "drain"])
        count[what] = count.get(what, 0) + 1
        if what == "death":
            victim = random.choice(endpoints)
            load.deaths.append(None)
            victim.die()
            try:
                await asyncio.sleep(random.uniform(0.1, DYING))
            finally:
                await victim.start()
                load.deaths[-1] = time.monotonic()
        elif what == "reload":
            await gateway.reload()
        else:
            path = f"/api/v1/clusters/web/endpoints/{random.choice(NAMES)}"
            # One that the configuration in force has not is 404.
            for admin in ("draining", "enabled"):
                await gateway.call("PATCH", path, {"admin": admin})
                await asyncio.sleep(0.3)


async def watch(gateway, samples, every):
    """Takes down memory and descriptors while it runs."""
    while True:
        await asyncio.sleep(every)
        samples.append((gateway.memory_mib(), gateway.descriptors()))


async def settle(gateway):
    """Waits until nothing is in flight and no connection is kept; what is left then."""
    end = time.monotonic() + SETTLE_SECONDS
    names = ("in_flight", "connections", "upstream_connections")
    while True:
        left = {name: await gateway.metric(name) for name in names}
        if not any(left.values()) or time.monotonic() > end:
            return left
        await asyncio.sleep(0.25)


async def idle(gateway):
    """What a gateway without traffic holds; a call of its API may still be on its way out."""
    descriptors = []
    for _ in range(10):
        await asyncio.sleep(0.1)
        descriptors.append(gateway.descriptors())
    return gateway.memory_mib(), min(descriptors)


async def soak(gateway, endpoints, load, seconds):
    """A warm-up, after which is noted what an idle gateway holds, and the soak itself."""
    await load.run(max(2, seconds * 0.05))
    await settle(gateway)
    before = await idle(gateway)
    count, samples = {}, []
    beside = [asyncio.create_task(trouble(gateway, endpoints, load, count)),
              asyncio.create_task(watch(gateway, samples, max(0.5, seconds / 40)))]
    start = time.monotonic()
    try:
        await load.run(seconds)
    finally:
        for task in beside:
            task.cancel()
        ended = await asyncio.gather(*beside, return_exceptions=True)
    took = time.monotonic() - start
    for error in ended:
        if not isinstance(error, asyncio.CancelledError):
            raise error
    left = await settle(gateway)
    after = await idle(gateway)
    return {"before": before, "after": after, "samples": samples, "left": left, "trouble": count,
            "seconds": took}


def judge(result, gateway, endpoints, load, code):
    """What is wrong, a line each."""
    (memory, descriptors), (memory_after, descriptors_after) = result["before"], result["after"]
    cut = sum(endpoint.cut for endpoint in endpoints)
    doubled = doubled_posts(endpoints)
    said = gateway.said()
    checks = [
        (not load.lost(), f"requests that may be sent again failed: {load.lost()}"),
        (load.count["cut"] <= cut, f"{load.count['cut']} answers were cut, {cut} by their endpoints"),
        (doubled == 0, f"{doubled} POSTs came twice"),
        (not any(result["left"].values()), f"not everything came to an end: {result['left']}"),
        (descriptors_after <= descriptors, f"descriptors: {descriptors} before, {descriptors_after} after"),
        (memory_after <= memory * MEMORY_FACTOR + MEMORY_MIB,
         f"memory: {memory:.1f} MiB before, {memory_after:.1f} after"),
        ("panicked" not in said, f"it panicked: {said[-2000:]}"),
        (code == 0, f"it ended with {code}"),
    ]
    return [message for holds, message in checks if not holds]


def doubled_posts(endpoints):
    """How many POSTs came to more than one place, or more than once."""
    total = sum((endpoint.posts for endpoint in endpoints), start=type(endpoints[0].posts)())
    return sum(1 for times in total.values() if times > 1)


def report(result, load, retries):
    """The figures."""
    asked = sum(count for what, count in load.count.items() if what.isupper())
    print(f"asked {asked} requests in {result['seconds']:.0f} s "
          f"({asked / result['seconds']:.0f} a second, warm-up included): {dict(load.count)}")
    print(f"meanwhile {result['trouble']}, retries {retries:.0f}")
    print(f"failed {sum(load.lost().values())} that may be sent again, all failures: "
          f"{dict(load.failed) or 'none'}")
    most = max(result["samples"], default=result["after"])
    print(f"memory MiB, descriptors: idle before {show(result['before'])}, most {show(most)}, "
          f"idle after {show(result['after'])}")
    print(f"left in flight and connected: {result['left']}")


def show(pair):
    """Memory and descriptors."""
    return f"{pair[0]:.1f}, {pair[1]}"


async def run(arguments):
    """Runs the soak; what is wrong."""
    endpoints = [Endpoint(name) for name in NAMES]
    for endpoint in endpoints:
        await endpoint.start()
    with tempfile.TemporaryDirectory() as folder:
        binary = str(pathlib.Path(arguments.binary).resolve())
        gateway = Gateway(binary, folder, endpoints)
        await gateway.start()
        load = Load(gateway.port, arguments.rate)
        try:
            result = await soak(gateway, endpoints, load, arguments.seconds)
            retries = await gateway.metric("retries_total")
        finally:
            code = await gateway.stop()
        report(result, load, retries)
        return judge(result, gateway, endpoints, load, code)


def main():
    """Prints the figures; ends with 1 when something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--binary", default="target/release/evenkeel")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    wrong = asyncio.run(run(arguments))
    for message in wrong:
        print(f"soak: {message}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
