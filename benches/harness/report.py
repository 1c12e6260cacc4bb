"""What came out: records, one JSON line each, and the tables that people read.

Kinds of records: `machine` (one, first), `results` (one table of a row: a summary of each contestant),
`verdict` (one number beside what must be reached), `note`.
"""

import json

UNITS = {"s": 1, "ms": 1000}


class Report:
    """Collects records, and writes each to a file as it comes: an end in the middle loses nothing."""

    def __init__(self, path):
        self.records = []
        self.file = open(path, "w", encoding="utf-8")

    def add(self, kind, **fields):
        record = {"kind": kind, **fields}
        self.records.append(record)
        print(json.dumps(record), file=self.file, flush=True)
        return record


def read(paths):
    """The records of several files: a row that a later file has replaces that of an earlier one."""
    kept = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            new = [json.loads(line) for line in file]
        rows = {record["row"] for record in new if "row" in record}
        kept = [record for record in kept if record.get("row") not in rows and record["kind"] != "machine"]
        kept = [*(record for record in new if record["kind"] == "machine"), *kept]
        kept += [record for record in new if record["kind"] != "machine"]
    return kept


def markdown(lines):
    """A Markdown table whose columns are aligned; numbers to the right."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    right = [all(is_number(line[column]) for line in lines[1:]) for column in range(len(widths))]

    def row(line):
        cells = (cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(line, widths, right))
        return f"| {' | '.join(cells)} |"

    rule = "|".join("-" * (w + 1) + (":" if r else "-") for w, r in zip(widths, right))
    return "\n".join([row(lines[0]), f"|{rule}|", *map(row, lines[1:])])


def is_number(cell):
    return cell.replace(".", "").replace("–", "").replace(" ", "").isdigit() or cell == ""


def results_table(record):
    """Every contestant of one row. The range is that of the time without the wait for the disk."""
    unit = record["unit"]
    waits = any(result["durable"] != result["apart"] for result in record["results"])
    peaks = all(result["peak_mib"] is not None for result in record["results"])
    reads = all(result["read_mib"] is not None for result in record["results"])
    head = ["program", unit, "min – max", *(["on disk after"] if waits else []), "CPU"]
    head += [*(["peak MiB"] if peaks else []), *(["read MiB"] if reads else []), "runs"]
    lines = [head]
    for result in record["results"]:
        scale = UNITS[unit]
        line = [result["name"], number(result["apart"] * scale)]
        line.append(f"{number(result['minimum'] * scale)} – {number(result['maximum'] * scale)}")
        if waits:
            line.append(number(result["durable"] * scale))
        line.append(number(result["cpu"] * scale))
        if peaks:
            line.append(f"{result['peak_mib']:.0f}")
        if reads:
            line.append(f"{result['read_mib']:.1f}")
        line.append(str(result["rounds"]))
        lines.append(line)
    return f"{record['row']}: {record['subject']}\n\n{markdown(lines)}"


def verdict_table(records):
    """One line for each number: what was measured, what must be reached, and whether it is."""
    lines = [["row", "work", "measured", "target", ""]]
    for record in records:
        if record["kind"] == "verdict":
            met = {True: "pass", False: "MISS", None: ""}[record["met"]]
            unit = " ×" if "pair" in record else spaced(record["unit"])
            target = "" if record["limit"] is None else f"≤ {record['limit']:g}{unit}"
            lines.append([record["row"], record["work"], measured(record), target, met])
    return markdown(lines) if len(lines) > 1 else "nothing was judged"


def measured(record):
    if "pair" not in record:
        return f"{number(record['value'])}{spaced(record['unit'])}"
    own, peer = record["pair"]
    return f"{record['value']:.2f} {record['unit']} ({duration(own)} : {duration(peer)})"


def spaced(unit):
    return f" {unit}" if unit else ""


def duration(seconds):
    return f"{number(seconds)} s" if seconds >= 0.1 else f"{number(seconds * 1000)} ms"


def number(value):
    """Three digits that count."""
    if value == int(value) or value >= 100:
        return f"{value:.0f}"
    digits = 1 if value >= 10 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f}"


def tables(records):
    """The whole report as Markdown."""
    parts = []
    for record in records:
        if record["kind"] == "machine":
            about = record["about"]
            parts.append(
                f"{record['began']}, {about['cores']} cores of {about['processor']}, {about['memory_gib']} GiB, "
                f"Linux {about['kernel']}, {record['file_system']}; {'; '.join(record['versions'].values())}."
            )
        elif record["kind"] == "results":
            parts.append(results_table(record))
        elif record["kind"] == "note":
            parts.append(f"{record['row']}: {record['text']}")
    return "\n\n".join([*parts, verdict_table(records)])
