"""Commands that only read: how long one waits for `--version`, `graph` and `history`."""

import shutil

from harness.measuring import Command, compare
from harness.peers import REPOSITORY
from harness.projects import Project

GENERATIONS = 20


def run(bench):
    place = bench.place("commands")
    project = Project(bench.drystone, place / "project", place / "store")
    shutil.copytree(
        REPOSITORY / "examples" / "quickstart", project.directory, ignore=shutil.ignore_patterns(".drystone", "store")
    )
    manifest = project.directory / "env.kdl"
    for number in range(GENERATIONS):
        versions = ("1.0", "2.0") if number % 2 else ("2.0", "1.0")
        text = manifest.read_text()
        manifest.write_text(text.replace(*[f'use "greeting" "{version}"' for version in versions]))
        project.run("build")
    # The stack with the largest graph that is here: this repository's own.
    stack = Project(bench.drystone, REPOSITORY, place / "store")
    contestants = [
        Command("drystone --version", place, [bench.drystone, "--version"]),
        Command("drystone graph", place, stack.command("graph")),
        Command("drystone history", place, project.command("history")),
        Command("true", place, ["true"]),
    ]
    results = compare(contestants, bench.starts, settle=False)
    bench.results("commands", f"{GENERATIONS} generations", results, unit="ms")
    for result in results[:-1]:
        bench.value("commands", result["name"], result["apart"] * 1000, "ms", 5)
    bench.done(place)
