"""Peak memory of a build, for every kind of archive."""

import os

from harness import measuring
from harness.projects import Build, Package, many_files

MIB = 2**20

# How a tar archive is packed: its ending, the command, and the window of what unpacks it, in MiB.
WAYS = [
    ("gz", ["gzip"], 0),
    ("bz2", ["bzip2"], 0),
    ("zst -3", ["zstd", "-3"], 2),
    ("xz", ["xz", "-6"], 8),
    ("xz -9", ["xz", "-9"], 64),
    ("zst --ultra -22 --long=27", ["zstd", "--ultra", "-22", "--long=27"], 128),
]


def run(bench):
    place = bench.place("memory")
    limit = 64 + 16 * os.cpu_count()
    results = []
    for name, archive, window in cases(bench, place):
        contestant = Build(name, place / "build", bench.drystone, [Package("wheel", archive)])
        results += measuring.compare([contestant], 1)
        measuring.remove(place / "build")
        bench.value("memory", name, results[-1]["peak_mib"], "MiB", limit + window)
    bench.results("memory", f"{limit} MiB and the decoder's window are allowed", results)
    bench.done(place)


def cases(bench, place):
    """Name, archive, and the decoder's window in MiB."""
    for wheel in bench.wheels(all_of_them=True):
        yield f"zip, {wheel.name.split('-')[0]}", wheel, 0
    count = bench.sizes.many
    yield f"zip, {count} files", many_files(place / "many.zip", count, "many"), 0
    tree, tar = place / "tree", place / "tree.tar"
    measuring.unzip(bench.repacked_wheel(), tree)
    measuring.run(["tar", "-cf", tar, "-C", tree, "."])
    size = tar.stat().st_size // MIB + 1
    yield "tar", tar, 0
    for number, (ending, command, window) in enumerate(WAYS if not bench.options.small else WAYS[-2:]):
        if not bench.has(command[0]):
            bench.note("memory", f"tar.{ending} left out: there is no {command[0]}")
            continue
        packed = place / f"{number}.tar.{ending.split()[0]}"
        with open(tar) as content, open(packed, "wb") as file:
            measuring.pipe([*command, "-c"], content, file)
        # No window is larger than what it looks back on.
        yield f"tar.{ending}", packed, min(window, size)
        packed.unlink()
