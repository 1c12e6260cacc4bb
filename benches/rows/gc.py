"""`gc` of half of a store beside `rm -rf` of the same names, realised links included."""

import os
import sys

from harness import measuring
from harness.projects import Package, Project, many_files


class Half(measuring.Contestant):
    """Builds the half that nobody needs, into the store that both share: its project's directory
    is removed then, as if a person had."""

    def __init__(self, name, place, store, archive, keep):
        super().__init__(name, place)
        self.project = Project(keep.program, place / "forgotten", store)
        self.archive, self.keep = archive, keep
        self.before = None

    def prepare(self):
        if self.before is None:
            self.before = names(self.project.store)
        self.project.write([Package("many", self.archive)], platform="x86_64-windows")
        self.project.build()
        measuring.remove(self.project.directory)

    def collect(self):
        return self.keep.command("gc", "--forget-missing")


class Gc(Half):
    def command(self):
        return self.collect()

    def clean_up(self):
        if names(self.project.store) != self.before:
            sys.exit("gc did not remove what was built last, or more than that")


class RemoveAll(Half):
    """rm -rf of what gc removes, in a directory of its own: the blobs in as many directories, and
    the realised directory."""

    def prepare(self):
        super().prepare()
        measuring.make_writable(self.project.store / "realised")
        for name in names(self.project.store) - self.before:
            target = self.place / "out" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(self.project.store / name, target)

    def command(self):
        return ["rm", "-rf", self.place / "out"]

    def clean_up(self):
        # The trees and records of what was taken away.
        measuring.run(self.collect())


def names(store):
    """Blobs and realised directories, relative to the store."""
    found = set()
    for shard in os.scandir(store / "blobs"):
        found.update(f"blobs/{shard.name}/{entry.name}" for entry in os.scandir(shard.path))
    found.update(f"realised/{entry.name}" for entry in os.scandir(store / "realised"))
    return found


def run(bench):
    place = bench.place("gc")
    half = bench.sizes.blobs // 2
    keep = Project(bench.drystone, place / "keep", place / "store")
    keep.write([Package("many", many_files(place / "kept.zip", half, "kept"))], platform="x86_64-windows")
    keep.build()
    archive = many_files(place / "dropped.zip", half, "dropped")
    contestants = [
        Gc("drystone gc", place / "gc", keep.store, archive, keep),
        RemoveAll("rm -rf", place / "rm", keep.store, archive, keep),
    ]
    own, rm = measuring.compare(contestants, bench.rounds)
    bench.results("gc", f"{half} of {2 * half} blobs", [own, rm])
    bench.ratio("gc", f"{half} blobs and as many links", own, rm, 1.5, than="rm -rf of the same names")
    bench.done(place)
