"""The same archive over HTTP from nginx on loopback: what fetching adds to the local case."""

from harness.measuring import compare
from harness.projects import Build, Package, memory_for
from harness.server import serving


def run(bench):
    if not bench.needs("http", "nginx"):
        return
    wheel, place = bench.wheels()[0], bench.place("http")
    with serving(wheel.parent, place / "server") as url:
        remote = Package("wheel", wheel, into=".", url=f"{url}/{wheel.name}")
        contestants = [
            Build("over HTTP", place / "remote", bench.drystone, [remote]),
            Build("local file", place / "local", bench.drystone, [Package("wheel", wheel, into=".")]),
        ]
        remote, local = compare(contestants, bench.rounds, memory_for(wheel))
    bench.results("http", wheel.name.split("-")[0], [remote, local])
    bench.ratio("http", "without the wait for the disk", remote, local, 1.1)
    bench.ratio("http", "until all is on the disk", remote, local, None, field="durable")
    bench.done(place)
