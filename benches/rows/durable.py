"""The durable build from the archive beside ostree, which commits and checks out the unpacked tree."""

from harness import measuring
from harness.projects import Build, Package, memory_for


class Ostree(measuring.Contestant):
    """ostree commit and checkout -U -H, fsync on, with a bare-user repository: the mode that keeps
    files as they are, so that a checkout can be hard links and owners need no rights."""

    SCRIPT = (
        'ostree --repo="$1" commit --branch=bench --tree=dir="$2"; '
        'ostree --repo="$1" checkout -U -H bench "$3"'
    )

    def __init__(self, place, wheel):
        super().__init__("ostree", place)
        self.wheel = wheel
        self.repository, self.source = place / "repository", place / "source"

    def set_up(self):
        super().set_up()
        measuring.unzip(self.wheel, self.source)

    def prepare(self):
        measuring.run(["ostree", f"--repo={self.repository}", "init", "--mode=bare-user"])
        measuring.run(["ostree", f"--repo={self.repository}", "config", "set", "core.fsync", "true"])

    def command(self):
        return ["sh", "-ec", self.SCRIPT, "sh", self.repository, self.source, self.place / "out"]

    def clean_up(self):
        super().clean_up()
        measuring.remove(self.repository)


def run(bench):
    if not bench.needs("durable", "ostree"):
        return
    wheel, place = bench.wheels()[0], bench.place("durable")
    own = Build("drystone", place / "drystone", bench.drystone, [Package("wheel", wheel, into=".")])
    contestants = [own, Ostree(place / "ostree", wheel)]
    own, ostree = measuring.compare(contestants, bench.rounds, memory_for(wheel))
    bench.results("durable", wheel.name.split("-")[0], [own, ostree])
    than = "ostree commit + checkout -H, fsync on"
    bench.ratio("durable", "until all is on the disk", own, ostree, 0.5, field="durable", than=than)
    bench.done(place)
