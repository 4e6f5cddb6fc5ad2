"""A real etcd and three gateways: endpoints come and go at all of them, within a second on a machine that has nothing
else to do, and whatever happens to etcd or to a gateway, no request fails that had a living endpoint.

python3 -B tests/fleet/fleet.py --binary target/debug/evenkeel [--rounds 10] [--rate 100] [--relay]
"""

import argparse
import asyncio
import contextlib
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
from load import Load  # noqa: E402
from network import network  # noqa: E402

PREFIX = "/evenkeel/clusters/web/"
# How soon a change is seen by traffic at every gateway, where the machine has nothing else to do: later ones are told.
WITHIN = 1.0
# How soon all is as before when etcd can be reached again: the longest wait, an attempt to connect, and a lease.
BACK_WITHIN = 8.0
# How soon each goes by itself when etcd is cut off: what others said is believed for ten seconds.
ALONE_WITHIN = 13.0
# How soon it must be seen on any machine.
MOST = 30.0
# So long after the last request to an endpoint no other one comes.
QUIET = 1.5


class World:
    """Everything that runs."""

    def __init__(self, folder, network):
        self.network = network
        self.etcd = Etcd(folder / "etcd", network.address, network.inside)
        self.backends = {name: Backend(name) for name in "abcd"}
        # Each gateway's own way to the endpoint that they judge, and one that is always well.
        self.ways = [Backend(f"way-{n}") for n in range(3)]
        self.gateways, self.load = [], None
        self.seen = {"put": [], "del": [], "drain": [], "alone": [], "back": []}
        self.slow = []
        # How often the gateways were asked for their verdicts.
        self.rounds = 0

    async def start(self, stack, folder, binary, rate):
        stack.push_async_callback(self.etcd.stop)
        await self.etcd.start()
        for one in [*self.backends.values(), *self.ways]:
            await one.start()
            stack.push_async_callback(one.stop)
        await self.put("a")
        await self.put("b")
        url, spare = await self.network.outside(self.etcd.url), self.backends["a"].port
        self.gateways = [Gateway(binary, folder, f"gw-{n}", url, way.port, spare) for n, way in enumerate(self.ways)]
        self.load = Load(self.gateways, rate)
        for one in self.gateways:
            stack.push_async_callback(one.stop)
            await one.start()
        await self.agree("ab")

    def put(self, name):
        value = {"address": f"127.0.0.1:{self.backends[name].port}", "weight": 1}
        return self.etcd.ctl("put", PREFIX + name, json.dumps(value))

    def delete(self, name):
        return self.etcd.ctl("del", PREFIX + name)

    async def first(self, name):
        """From a put to the first request at each gateway."""
        at = time.monotonic()
        self.load.mark(name)
        await self.put(name)
        await self.until(lambda: all(self.load.first[name].get(g.name) for g in self.gateways), "put")
        for gateway in self.gateways:
            self.note("put", self.load.first[name][gateway.name] - at)

    async def last(self, name):
        """From a removal to the last request at each gateway."""
        at = time.monotonic()
        await self.delete(name)
        await self.ended("del", name, at)

    async def ended(self, what, name, at):
        """Waits until no gateway sends anything to an endpoint any more; how long after `at` each did so last."""
        def last(gateway):
            return self.load.last.get((gateway.name, name), at)

        await self.until(lambda: all(time.monotonic() - max(at, last(g)) > QUIET for g in self.gateways), what, MOST)
        for gateway in self.gateways:
            self.note(what, max(0.0, last(gateway) - at))

    async def drained(self, name):
        """An operator drains an endpoint at one gateway: the others follow, until it is enabled at another one."""
        path = f"/api/v1/clusters/web/endpoints/{name}"
        at = time.monotonic()
        await self.gateways[0].call("PATCH", path, {"admin": "draining"})
        await self.ended("drain", name, at)
        self.load.mark(name)
        await self.gateways[1].call("PATCH", path, {"admin": "enabled"})
        await self.until(lambda: all(self.load.first[name].get(g.name) for g in self.gateways), "enable")

    def note(self, what, seconds, within=WITHIN):
        self.seen[what].append(seconds)
        if seconds > within:
            self.slow.append(f"{what}: {seconds:.3f} s")

    async def until(self, condition, what, seconds=MOST):
        """Waits for a condition, far longer than it should take."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"{self.said()}\n{what}: not within {seconds} s")
            await asyncio.sleep(0.005)

    async def agree(self, names):
        """Waits until every gateway has these endpoints."""
        end = time.monotonic() + 60
        while True:
            lists = [await gateway.endpoints() for gateway in self.gateways if gateway.is_up]
            if all(known == sorted(names) for known in lists):
                return
            if time.monotonic() > end:
                raise RuntimeError(f"{self.said()}\nthe gateways have {lists}, not {names}")
            await asyncio.sleep(0.05)

    async def judged(self, words):
        """Waits until each gateway finds its endpoint so."""
        end = time.monotonic() + 60
        while True:
            known = [await gateway.health() for gateway in self.gateways]
            if [word for word, _ in known] == words:
                return known
            if time.monotonic() > end:
                raise RuntimeError(f"{self.said()}\nthe gateways find {known}, not {words}")
            await asyncio.sleep(0.05)

    async def each(self, metric, value):
        """Waits until a metric has this value at every gateway."""
        end = time.monotonic() + 60
        while True:
            known = [await gateway.metric(metric) for gateway in self.gateways]
            if known == [value] * len(known):
                return
            if time.monotonic() > end:
                raise RuntimeError(f"{self.said()}\n{metric} is {known} at the gateways, not {value} at each")
            await asyncio.sleep(0.05)

    async def members(self, count):
        """Waits until every gateway counts so many members of the fleet."""
        await self.each("fleet_members", count)

    async def registered(self, count):
        """Waits until so many gateways have their keys in etcd."""
        end = time.monotonic() + 60
        while True:
            keys = await self.etcd.ctl("get", "--prefix", "--keys-only", "/evenkeel/fleet/members/")
            if len(keys.split()) == count:
                return
            if time.monotonic() > end:
                raise RuntimeError(f"{self.said()}\nthe members in etcd are {keys.split()}, not {count}")
            await asyncio.sleep(0.05)

    def said(self):
        return "\n".join(f"-- {g.name}\n{g.said()[-2000:]}" for g in self.gateways)


async def calm(world):
    """Changes while all is well."""
    await world.first("c")
    await world.drained("c")
    await world.last("c")


async def kill(world):
    """etcd dies and comes back; what was changed is seen."""
    await world.etcd.kill()
    await asyncio.sleep(1)
    await world.etcd.start()
    await world.put("d")
    await world.agree("abd")
    await world.delete("d")
    await world.agree("ab")


async def compact(world):
    """The history is thrown away while a change is made."""
    await world.put("d")
    await world.etcd.compact()
    await world.agree("abd")
    await world.delete("d")
    await world.agree("ab")


async def pause(world):
    """etcd is stopped in its tracks for longer than anybody waits for it."""
    world.etcd.pause()
    await asyncio.sleep(4)
    world.etcd.go_on()
    await world.put("d")
    await world.agree("abd")
    await world.delete("d")
    await world.agree("ab")


async def empty(world):
    """etcd comes back without anything: nothing is emptied, and the endpoints return."""
    await world.etcd.kill()
    world.etcd.forget()
    await world.etcd.start()
    await asyncio.sleep(1)
    await world.agree("ab")
    for name in "ab":
        await world.put(name)
    await world.agree("ab")


async def gateway(world):
    """A gateway dies, which its clients notice and go elsewhere, and comes back."""
    victim = world.gateways[2]
    await victim.kill()
    await asyncio.sleep(0.5)
    await victim.start()
    await world.agree("ab")


async def backend(world):
    """An endpoint dies with its lease: others take its requests meanwhile."""
    # It ends when it is told to, and not before all gateways have seen the endpoint.
    lease = await world.etcd.lease(600)
    value = json.dumps({"address": f"127.0.0.1:{world.backends['d'].port}"})
    await world.etcd.ctl("put", f"--lease={lease}", PREFIX + "d", value)
    await world.agree("abd")
    await world.backends["d"].stop()
    await world.etcd.end(lease)
    await world.agree("ab")
    await world.backends["d"].start()


async def verdicts(world):
    """What one gateway cannot reach is out there alone, what two cannot is out for the third; while etcd is cut off,
    each goes by itself, and what was changed in it meanwhile is seen when it is back."""
    one, two, _ = world.ways
    # What befell etcd may have cost somebody its place among those who are asked.
    await world.members(3)
    world.rounds += 1
    for gateway in world.gateways:
        await gateway.judge(f"one-{world.rounds}")
    await world.judged(["healthy"] * 3)
    await one.stop()
    await world.judged(["unhealthy", "healthy", "healthy"])
    await asyncio.sleep(0.5)
    await world.judged(["unhealthy", "healthy", "healthy"])
    await two.stop()
    known = await world.judged(["unhealthy"] * 3)
    if not known[2][1].startswith("2 of 3 gateways hold it out"):
        raise RuntimeError(f"{world.said()}\nthe third gateway says {known[2][1]!r}")
    await world.network.cut()
    cut = time.monotonic()
    await world.put("d")
    # The others are believed for as long as their leases would live.
    await world.judged(["unhealthy", "unhealthy", "healthy"])
    world.note("alone", time.monotonic() - cut, ALONE_WITHIN)
    await world.agree("ab")
    await world.network.mend()
    mended = time.monotonic()
    # The list, the verdicts of all, and each of them a member, though its lease has ended.
    await asyncio.gather(world.agree("abd"), world.judged(["unhealthy"] * 3), world.each("fleet_up", 1))
    await world.registered(3)
    world.note("back", time.monotonic() - mended, BACK_WITHIN)
    await two.start()
    await world.judged(["unhealthy", "healthy", "healthy"])
    await one.start()
    await world.judged(["healthy"] * 3)
    await world.delete("d")
    await world.agree("ab")


CHAOS = [calm, kill, compact, pause, empty, gateway, backend, verdicts]


async def run(arguments, folder):
    async with contextlib.AsyncExitStack() as stack:
        between = await network(arguments.relay)
        stack.push_async_callback(between.close)
        world = World(folder, between)
        await world.start(stack, folder, arguments.binary, arguments.rate)
        loading = asyncio.create_task(world.load.run())
        for number in range(arguments.rounds):
            for trouble in CHAOS:
                began = time.monotonic()
                try:
                    await trouble(world)
                except RuntimeError as error:
                    raise RuntimeError(f"{error} ({trouble.__name__}, round {number + 1})") from error
                print(f"round {number + 1}: {trouble.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        world.load.stopping = True
        await loading
        await world.registered(len(world.gateways))
        await world.members(len(world.gateways))
    return report(world)


def report(world):
    """Says what came of it; whether all is well."""
    load = world.load
    print(f"requests: {load.count}, failed: {len(load.failed)}, "
          f"tried at another gateway: {load.elsewhere}")
    for what, seconds in world.seen.items():
        print(f"{what}: {len(seconds)} times, median {statistics.median(seconds) * 1000:.0f} ms, "
              f"worst {max(seconds) * 1000:.0f} ms")
    for one in world.slow:
        print(f"slow: {one}")
    wrong = [f"failed: {why}" for why in load.failed[:10]]
    if wrong:
        print(world.said())
    for line in wrong:
        print(line)
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, help="the gateway")
    parser.add_argument("--rounds", type=int, default=10, help="how often each trouble comes")
    parser.add_argument("--rate", type=float, default=100, help="requests a second")
    parser.add_argument("--relay", action="store_true", help="cut etcd off by a relay, not in a network namespace")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evenkeel-fleet-") as folder:
        try:
            is_well = asyncio.run(run(arguments, pathlib.Path(folder)))
        except RuntimeError as error:
            # What went wrong is its last line.
            sys.exit(f"fleet: {error}")
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
