"""`run` in a fresh runtime directory with 20 overlay files, over starting the program directly."""

import pathlib
import random
import shutil

from harness.measuring import Command, compare
from harness.projects import Package, Project, own_platform, program_archive

FILES = 20


def run(bench):
    place = bench.place("run")
    project = Project(bench.drystone, place / "project", place / "store")
    names = [f"overlay{number:02}.bin" for number in range(FILES)]
    random.seed(1)
    tool = pathlib.Path(shutil.which("true")).resolve()
    program = program_archive(place / "tool.zip", tool, [("readme.txt", "beside it\n")])
    overlay = program_archive(place / "overlay.zip", tool, [(name, random.randbytes(65536)) for name in names])
    quoted = " ".join(f'"{name}"' for name in names)
    packages = [
        Package("tool", program),
        Package("overlay", overlay, more=f"\n        overlay {quoted}"),
    ]
    application = f"""
application "tool" {{
    in "bench"
    program "tool/{tool.name}"
    overlay "overlay"
}}
"""
    project.write(packages, platform=own_platform(), more=application)
    directory = pathlib.Path(project.build()["directory"])
    contestants = [
        Command("drystone run", place, project.command("run", "tool")),
        Command("directly", place, [directory / "tool" / tool.name]),
    ]
    own, direct = compare(contestants, bench.starts, settle=False)
    bench.results("run", f"{FILES} overlay files", [own, direct], unit="ms")
    added = (own["apart"] - direct["apart"]) * 1000
    bench.value("run", "added to starting the program", added, "ms", 5)
    bench.done(place)
