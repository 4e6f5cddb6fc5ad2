"""The changes that can be made to the crate, as `cargo mutants --list` says, and how a text with one looks."""

import fnmatch
import json
import re
import subprocess

CRATE = "evenkeel-core"
FUNCTION = re.compile(r"^[ \t]*(pub(\([a-z]+\))? )?((const|async) )*fn ", re.MULTILINE)


def listed(tree, shard="0/1", files=None, names=None):
    """Those that are asked for. Shards are taken of all, every n-th, so that they do not overlap."""
    output = subprocess.run(
        ["cargo", "mutants", "--no-config", "-p", CRATE, "--list", "--json"],
        cwd=tree, stdout=subprocess.PIPE, check=True,
    ).stdout
    k, n = map(int, shard.split("/"))
    changes = json.loads(output)[k::n]
    if files:
        changes = [c for c in changes if any(fnmatch.fnmatch(c["file"], glob) for glob in files)]
    if names:
        changes = [c for c in changes if c["name"] in names]
    return changes


def span(text, of):
    """Where something is in its file, as a range of characters."""
    lines = text.splitlines(keepends=True)
    at = lambda place: sum(map(len, lines[: place["line"] - 1])) + place["column"] - 1
    return at(of["start"]), at(of["end"])


def changed(text, change, begin=0, end=None):
    """The part of a file from `begin` to `end` with a change in it."""
    start, stop = span(text, change["span"])
    # A space before, since a sign may be left where a word was.
    return f"{text[begin:start]} {change['replacement']}{text[stop:end]}"


def body(text, change):
    """The body of the function that a change is in, without its braces; None where it can have no switch: in a
    constant, in a function that may run in one, and in one that returns a type without a name."""
    if not change["function"]:
        return None
    start, end = span(text, change["function"]["span"])
    # Behind what is said of it, in which there may be examples.
    start += FUNCTION.search(text[start:end]).start()
    head, brace, _ = text[start:end].partition("{")
    if not brace or "const fn" in head or "-> impl" in head:
        return None
    return start + len(head) + 1, end - 1
