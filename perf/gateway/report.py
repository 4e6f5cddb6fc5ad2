"""Rows from rounds: medians, and ratios of ours to each rival taken within a round."""

import statistics
import sys

import machine

OURS = "evenkeel"
COLUMNS = ["system", "scenario", "us_per_request", "rps", "p99_us", "p99_worst_us", "rss", "kib_per_connection",
           "ratio", "ratio_min", "ratio_max", "failed", "others_cpu"]
# By these ours and rivals are compared: CPU where there is load, memory where there is none.
COMPARED = {"idle": "kib_per_connection", "idletls": "kib_per_connection"}
DIGITS = {"us_per_request": 2, "rps": 0, "p99_us": 0, "p99_worst_us": 0, "rss": 1, "kib_per_connection": 2,
          "ratio": 2, "ratio_min": 2, "ratio_max": 2, "others_cpu": 2}


def rows(scenario, rounds, names):
    """One row for each system: `ratio` is ours to that rival, so below 1 means ours needs less."""
    return [row(scenario, rounds, name) for name in names if any(name in r for r in rounds)]


def row(scenario, rounds, name):
    """The medians of one system over the rounds that it finished."""
    results = [r[name] for r in rounds if name in r]
    idle = scenario in COMPARED
    fields = ["kib_per_connection"] if idle else ["us_per_request", "rps", "p99_us"]
    fields = [field for field in fields if all(field in result for result in results)]
    line = {"system": name, "scenario": scenario}
    for field in fields:
        line[field] = median(results, field)
    if "p99_us" in fields:
        line["p99_worst_us"] = max(result["p99_us"] for result in results)
    line["rss"] = median(results, "rss_mib")
    ratios = within_rounds(rounds, name, COMPARED.get(scenario, "us_per_request"))
    if ratios:
        line["ratio"] = statistics.median(ratios)
        line["ratio_min"], line["ratio_max"] = min(ratios), max(ratios)
    line["failed"] = sum(result["failed"] for result in results)
    line["others_cpu"] = median(results, "others_cpu")
    warn(line)
    return {name: round(value, DIGITS[name]) if name in DIGITS else value
            for name, value in line.items()}


def median(results, field):
    """The middle of what the rounds gave."""
    return statistics.median(result[field] for result in results)


def within_rounds(rounds, name, field):
    """Ours to this rival, for each round that both finished."""
    if name == OURS:
        return []
    both = [r for r in rounds if OURS in r and name in r and r[name][field] > 0]
    return [r[OURS][field] / r[name][field] for r in both]


def warn(line):
    """Says on stderr what makes a row doubtful."""
    place = f"{line['scenario']}: {line['system']}"
    if line["failed"]:
        print(f"{place}: {line['failed']} requests failed; its cost is no cost of service",
              file=sys.stderr)
    if line["others_cpu"] > machine.QUIET_CPUS:
        print(f"{place}: others used {line['others_cpu']:.2f} CPUs meanwhile", file=sys.stderr)


def print_text(table):
    """An aligned table: words to the left, numbers to the right; columns without values left out."""
    columns = [column for column in COLUMNS if any(column in line for line in table)]
    cells = [columns] + [[cell(line, column) for column in columns] for line in table]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        words = [line[i].ljust(widths[i]) for i in range(2)]
        numbers = [line[i].rjust(widths[i]) for i in range(2, len(columns))]
        print("  ".join(words + numbers).rstrip())


def cell(line, column):
    """A value with its usual digits; nothing where there is none."""
    value = line.get(column)
    if value is None:
        return ""
    return f"{value:.{DIGITS[column]}f}" if column in DIGITS else str(value)
