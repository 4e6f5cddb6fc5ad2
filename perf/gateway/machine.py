"""What the kernel says about processes: CPU time, memory, and whether anybody else is busy."""

import dataclasses
import os
import re
import resource
import time

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Others may use this many CPUs: before a measurement, and in one that is neither repeated nor doubted.
# Less could not be told from the noise of a sample, which is a few ticks.
QUIET_CPUS = 0.1
QUIET_SAMPLE_SECONDS = 0.3


def read(path):
    """The text of a file of /proc."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def process_tree(pid):
    """The process and all its descendants."""
    pids = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in read(f"/proc/{pid}/task/{task}/children").split():
                pids += process_tree(int(child))
    except FileNotFoundError:
        pass
    return pids


def cpu_seconds(pid):
    """CPU time of a process and its descendants, user and system."""
    ticks = 0
    for each in process_tree(pid):
        # The name in parentheses may hold spaces; times are counted from behind it.
        fields = read(f"/proc/{each}/stat").rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS_PER_SECOND


def rss_mib(pid):
    """Resident memory of a process and its descendants."""
    sizes = (re.search(r"VmRSS:\s+(\d+)", read(f"/proc/{each}/status"))
             for each in process_tree(pid))
    return sum(int(size.group(1)) for size in sizes if size) / 1024


def busy_seconds():
    """CPU time that all CPUs together spent on anything since the start of the machine."""
    fields = [int(field) for field in read("/proc/stat").splitlines()[0].split()[1:9]]
    idle, waiting = fields[3], fields[4]
    return (sum(fields) - idle - waiting) / TICKS_PER_SECOND


def wait_until_quiet(patience):
    """Waits for a moment in which nothing else runs, for at most so many seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        before = busy_seconds()
        time.sleep(QUIET_SAMPLE_SECONDS)
        if busy_seconds() - before <= QUIET_CPUS * QUIET_SAMPLE_SECONDS:
            return


@dataclasses.dataclass
class Usage:
    """Seconds: of the clock, of the proxy's CPU, and of CPU that was nobody's of ours."""

    wall: float
    proxy: float
    others: float

    def __sub__(self, earlier):
        return Usage(self.wall - earlier.wall, self.proxy - earlier.proxy,
                     self.others - earlier.others)


def usage(proxy_pid, backends_pids):
    """What was used up to now. The load generator counts once it has ended, as our child."""
    generator = resource.getrusage(resource.RUSAGE_CHILDREN)
    itself = resource.getrusage(resource.RUSAGE_SELF)
    proxy = cpu_seconds(proxy_pid)
    ours = proxy + sum(map(cpu_seconds, backends_pids))
    ours += generator.ru_utime + generator.ru_stime + itself.ru_utime + itself.ru_stime
    return Usage(time.monotonic(), proxy, busy_seconds() - ours)
