"""`store verify` beside b3sum of the very same files, both from memory."""

from harness.measuring import Command, compare
from harness.projects import Package, Project


def run(bench):
    if not bench.needs("verify", "b3sum"):
        return
    for wheel in bench.wheels()[:2]:
        place = bench.place("verify")
        project = Project(bench.drystone, place / "project", place / "store")
        project.write([Package("wheel", wheel, into=".")])
        project.build()
        subject = wheel.name.split("-")[0]
        # A store keeps archives, which verify reads as well (by SHA-256), until gc.
        compare_on(bench, place, project, f"{subject}, files and its archive", "blobs/*/* archives/*")
        project.run("gc")
        compare_on(bench, place, project, f"{subject}, files", "blobs/*/*")
        bench.done(place)


def compare_on(bench, place, project, subject, files):
    contestants = [
        Command("drystone", place, project.command("store", "verify")),
        Command("b3sum", place, ["sh", "-ec", f'cd "$1"; b3sum -- {files}', "sh", project.store]),
    ]
    own, b3sum = compare(contestants, bench.many_rounds)
    bench.results("verify", subject, [own, b3sum])
    bench.ratio("verify", subject, own, b3sum, 1.1)
