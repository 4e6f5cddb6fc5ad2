#!/usr/bin/env python3
"""Mutation testing of crates/core: changes one thing at a time and looks whether a test notices.

    mutants.py --tree TREE --out results.jsonl [--shard 0/8] [--file GLOB]... [--names FILE]

What can be changed is what `cargo mutants --list` says. It is tried here and not by cargo-mutants, which builds the
crate and runs all its tests for each change, most of a minute: here all changes that can have a switch are built into
one program, the unit tests, a second of it, meet each change first, and the suites of `crates/core/tests` only what
they let pass. Changes that are in the results already are left out, so that a run that was stopped goes on where
it was, and the shards of many runs add up.

TREE is a work tree of its own, whose files are changed and put back.
"""

import argparse
import collections
import json
import pathlib
import random
import signal
import sys
import time

import changes
import programs
from switch import Switched


def main():
    arguments = parse()
    # Ends by an exception, so that the change of the moment is taken back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("mutants: stopped"))
    names = arguments.names and set(arguments.names.read_text().splitlines())
    wanted = changes.listed(arguments.tree, arguments.shard, arguments.file, names)
    known = {result["name"] for result in read(arguments.out)}
    left = [change for change in wanted if change["name"] not in known]
    print(f"{len(wanted)} changes, {len(left)} of them not tried yet", flush=True)
    with_switch, alone = [], []
    for change in left:
        text = (arguments.tree / change["file"]).read_text()
        (with_switch if changes.body(text, change) else alone).append(change)
    report = Report(arguments.out)
    if with_switch:
        try_switched(arguments.tree, with_switch, report)
    for change in alone:
        try_alone(arguments.tree, change, report)
    summary(read(arguments.out))


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", type=pathlib.Path, required=True, help="a work tree that may be changed")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="results, one a line")
    parser.add_argument("--shard", default="0/1", help="K/N: every Nth change, from the Kth")
    parser.add_argument("--file", action="append", help="only changes in files of such names")
    parser.add_argument("--names", type=pathlib.Path, help="only the changes named in this file, one a line")
    return parser.parse_args()


class Report:
    def __init__(self, path):
        self.path = path

    def add(self, change, outcome, by, began=None):
        seconds = round(time.monotonic() - began, 1) if began else 0
        result = {"name": change["name"], "outcome": outcome, "by": by, "seconds": seconds}
        with self.path.open("a") as out:
            out.write(json.dumps(result) + "\n")
        print(f"{outcome:9} {seconds:5.1f} s  {change['name']}  {by}", flush=True)


def try_switched(tree, left, report):
    """Builds all of them into one program and tries each."""
    switched = Switched(tree, left)
    try:
        built = build_switched(switched)
    finally:
        switched.restore()
    numbered = list(enumerate(left, 1))
    # A run that is stopped has then tried some of every file.
    random.Random(1).shuffle(numbered)
    no_file = pathlib.Path()
    judge(tree, built, 0, no_file, lambda outcome, by: sys.exit(f"mutants: without a change: {outcome}, {by}"))
    for number, change in numbered:
        if number in switched.unviable:
            report.add(change, "unviable", "")
            continue
        began = time.monotonic()
        file = pathlib.Path(change["file"])
        note = lambda outcome, by: report.add(change, outcome, by, began)
        judge(tree, built, number, file, note) or note("survived", "")


def judge(tree, built, number, file, note):
    """Notes what tests say of a change; whether they said anything."""
    outcome = programs.unit_tests(tree, built, number) or programs.suites(tree, built, number, file)
    if outcome:
        note(*outcome)
    return outcome is not None


def build_switched(switched):
    """Builds, and leaves out what does not build until the rest does."""
    while True:
        switched.write()
        built, errors = programs.build(switched.tree, ["--tests"])
        if not errors:
            return built
        blamed = set()
        for error in errors:
            places = [place for place in error["spans"] if place["is_primary"]]
            blamed |= {switched.blame(place["file_name"], place["line_start"]) for place in places}
        blamed.discard(0)
        if not blamed:
            sys.exit("mutants: no change is to blame for: " + errors[0]["rendered"])
        switched.unviable |= blamed
        print(f"{len(switched.unviable)} do not build", flush=True)


def try_alone(tree, change, report):
    """Builds one and tries it."""
    path, began = tree / change["file"], time.monotonic()
    original = path.read_text()
    note = lambda outcome, by: report.add(change, outcome, by, began)
    try:
        path.write_text(changes.changed(original, change))
        built, errors = programs.build(tree, ["--tests"])
    finally:
        path.write_text(original)
    if errors or not built:
        return note("unviable", "")
    return judge(tree, built, 0, path, note) or note("survived", "")


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def summary(results):
    count = collections.Counter(result["outcome"] for result in results)
    print(f"{len(results)} tried:", ", ".join(f"{n} {outcome}" for outcome, n in count.most_common()))
    for result in sorted(results, key=lambda result: result["name"]):
        if result["outcome"] == "survived":
            print(f"  {result['name']}")


if __name__ == "__main__":
    main()
