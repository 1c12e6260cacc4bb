"""A second generation that changes one small package of ten, and what it reads for that."""

import json
import re
import shutil
import zipfile

from harness import measuring
from harness.peers import CopyOfLinks
from harness.projects import Package, Project


class NextGeneration(measuring.Contestant):
    """drystone build after `lock`, each round with another content of the small package. What it
    makes stays: a generation more is what this is about."""

    def __init__(self, place, project, packages):
        super().__init__("drystone", place)
        self.project, self.packages = project, packages
        self.number = 1

    def prepare(self):
        self.number += 1
        self.project.write([*self.packages[:-1], changed(self.packages[-1], self.place, self.number)])

    def command(self):
        return self.project.command("--json", "build")

    def barrier(self, stdout):
        return float(json.loads(stdout)["barrier_seconds"])


def changed(package, place, number):
    """The package with one file more, that no other number has."""
    archive = place / f"{number}-{package.archive.name}"
    shutil.copy(package.archive, archive)
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr("changed.txt", f"{number}\n")
    return Package(package.name, archive, version=str(number))


def run(bench):
    place = bench.place("generation")
    packages = [Package(f"p{number}", wheel) for number, wheel in enumerate(bench.ten_wheels())]
    project = Project(bench.drystone, place / "project", place / "store")
    project.write(packages, platform="x86_64-windows")
    built = project.build()
    following = NextGeneration(place / "drystone", project, packages)
    contestants = [following, CopyOfLinks(place / "copy", built["directory"])]
    own, copy = measuring.compare(contestants, bench.rounds)
    subject = f"{len(packages)} packages, {built['files']} files, {built['size'] / 1e9:.1f} GB"
    bench.results("generation", subject, [own, copy])
    than = "cp -al of the environment"
    bench.ratio(
        "generation", "its wait for the disk included", own, copy, 1.0, field="durable", of="apart", than=than
    )
    bench.ratio("generation", "without the wait for the disk", own, copy, None, than=than)
    if own["read_mib"] is not None:
        bench.value("generation", "bytes that it read, of all files together", own["read_mib"], "MiB", None)
    if bench.has("strace"):
        following.prepare()
        opened = blobs_opened(project, place / "calls")
        bench.value("generation", "blobs that were there and are opened", len(opened), "files", 0)
        if opened:
            bench.note("generation", f"opened: {', '.join(sorted(opened)[:3])} …")
    bench.done(place)


def blobs_opened(project, log):
    """The blobs of before that one more build opens; without its content none can be read or mapped."""
    blobs = project.store / "blobs"
    before = {path.name for path in blobs.rglob("*") if path.is_file()}
    calls = "trace=open,openat,openat2"
    measuring.run(["strace", "-f", "-y", "-qq", "-e", calls, "-o", log, *project.command("--json", "build")])
    # -y writes the path of each descriptor behind it: "= 7</…/blobs/ab/abcd…>".
    opened = re.findall(rf"= \d+<{re.escape(str(blobs))}/[^>]*?([^/>]+)>", log.read_text(errors="replace"))
    return before & set(opened)
