"""An environment realised again from a warm store."""

from harness import measuring
from harness.peers import CopyOfLinks, Uv
from harness.projects import Build, Package


def run(bench):
    wheel, place = bench.wheels()[0], bench.place("warm")
    own = Build("drystone", place / "drystone", bench.drystone, [Package("wheel", wheel, into=".")], warm=True)
    source = place / "source"
    measuring.unzip(wheel, source)
    contestants = [own, CopyOfLinks(place / "copy", source), Uv(place / "uv", wheel, warm=True)]
    own, copy, uv = measuring.compare(contestants, bench.many_rounds)
    bench.results("warm", wheel.name.split("-")[0], [own, copy, uv])
    bench.ratio("warm", "its wait for the disk included", own, copy, 1.0, field="durable", of="apart")
    bench.ratio("warm", "without the wait for the disk", own, copy, None)
    bench.ratio("warm", "without the wait for the disk", own, uv, None)
    bench.done(place)
