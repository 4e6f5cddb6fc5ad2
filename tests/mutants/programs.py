"""The test programs of the crate: built, and run."""

import json
import os
import pathlib
import re
import subprocess

from changes import CRATE

# The quickest first. What takes longest in the laws is left to the changes of the strategies that it is about.
SUITES = """words affinity blame gray views waiting cases health golden keys retry_budget allocations
    receipts laws""".split()
SLOW = ["all_with_gates_on", "maglev", "ring_hash"]
LONG_SUITES = {"receipts", "laws"}
SECONDS, LONG_SECONDS, BUILD_SECONDS = 20, 150, 1200
# What is found is not to be found again in the next run.
QUIET = {"PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1"}
CONFIG = [
    "--config=profile.dev.package.evenkeel-core.opt-level=1",
    '--config=profile.dev.package."*".opt-level=1',
    "--config=profile.dev.debug=0",
]


def build(tree, targets):
    """The test programs by name, and the places of errors as file and line."""
    command = ["cargo", "test", "--no-run", "--locked", "-p", CRATE, "--message-format=json", *targets, *CONFIG]
    flags = os.environ.get("RUSTFLAGS", "") + " --cap-lints=allow"
    built = subprocess.run(
        command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=BUILD_SECONDS,
        env=os.environ | {"CARGO_INCREMENTAL": "0", "RUSTFLAGS": flags},
    )
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    errors = [m["message"] for m in messages if m["reason"] == "compiler-message" and m["message"]["level"] == "error"]
    programs = {m["target"]["name"]: m["executable"] for m in messages if m.get("executable")}
    return programs, [] if built.returncode == 0 else errors


def unit_tests(tree, programs, number):
    """None when all pass, else what became of it and the first test that did not."""
    return ran(tree, programs["evenkeel_core"], ["--skip", "obligations"], SECONDS, number)


def suites(tree, programs, number, file):
    """The same for the suites, for a change in this file."""
    if file.parent.name == "weight":
        if outcome := ran(tree, programs["evenkeel_core"], ["obligations"], LONG_SECONDS, number):
            return outcome
    for suite in SUITES:
        skipped = [f"--skip={name}" for name in SLOW if suite == "laws" and name != file.stem]
        seconds = LONG_SECONDS if suite in LONG_SUITES else SECONDS
        if outcome := ran(tree, programs[suite], skipped, seconds, number):
            return outcome
    return None


def ran(tree, program, arguments, seconds, number):
    try:
        run = subprocess.run(
            [program, *arguments], cwd=tree / "crates/core", env=os.environ | QUIET | {"MUTATION": str(number)},
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return "timeout", pathlib.Path(program).name.rpartition("-")[0]
    if run.returncode == 0:
        return None
    failed = re.search(r"^test (\S+) .*FAILED$", run.stdout.decode(errors="replace"), re.MULTILINE)
    return "caught", failed[1] if failed else f"exit {run.returncode}"
