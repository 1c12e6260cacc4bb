"""An archive on disk → verified, stored and realised, with nothing in store or cache."""

from harness.measuring import compare
from harness.peers import Unpacker, Uv
from harness.projects import Build, Package, memory_for


def run(bench):
    for number, wheel in enumerate(bench.wheels()):
        place = bench.place("cold")
        contestants = [
            Build("drystone", place / "drystone", bench.drystone, [Package("wheel", wheel, into=".")]),
            Uv(place / "uv", wheel, warm=False),
        ]
        contestants += [
            Unpacker(name, place / name, wheel) for name in ("bsdtar", "unzip") if bench.has(name)
        ]
        own, uv, *others = compare(contestants, bench.rounds, memory_for(wheel))
        subject = wheel.name.split("-")[0]
        bench.results("cold", f"{subject}, {wheel.stat().st_size / 1e6:.0f} MB", [own, uv, *others])
        # The first has ten thousand files, the others are little but one library.
        of_uv, of_bsdtar = (0.85, 0.60) if number == 0 else (0.75, 0.65)
        bench.ratio("cold", f"{subject}, without the wait for the disk", own, uv, of_uv)
        for peer in others:
            limit = of_bsdtar if peer["name"] == "bsdtar" else None
            bench.ratio("cold", f"{subject}, without the wait for the disk", own, peer, limit)
        work = f"{subject}, until all is on the disk"
        bench.ratio("cold", work, own, uv, 0.85, field="durable", than="uv, then sync -f")
        bench.done(place)
