"""Going back, in a small environment and in a large one."""

from harness.measuring import Contestant, compare
from harness.projects import Package, Project, many_files


class Rollback(Contestant):
    """drystone rollback --to the other one of two generations."""

    def __init__(self, name, place, project):
        super().__init__(name, place)
        self.project = project
        self.current = 2

    def command(self):
        self.current = 3 - self.current
        return self.project.command("rollback", "--to", self.current)

    def clean_up(self):
        pass


def run(bench):
    place = bench.place("rollback")
    contestants = []
    for count in bench.sizes.rollback:
        project = Project(bench.drystone, place / f"project-{count}", place / "store")
        (place / str(count)).mkdir()
        packages = [Package("many", many_files(place / str(count) / "many.zip", count - 1, count))]
        for number in (1, 2):
            one = many_files(place / str(count) / f"one-{number}.zip", 1, f"{count} one {number}")
            project.write([*packages, Package("one", one, version=str(number))], platform="x86_64-windows")
            project.build()
        contestants.append(Rollback(f"{count} files", place, project))
    results = compare(contestants, bench.starts, settle=False)
    bench.results("rollback", "to and fro", results, unit="ms")
    for result in results:
        bench.value("rollback", result["name"], result["apart"] * 1000, "ms", 10)
    small, *_, large = results
    bench.ratio("rollback", f"{large['name']} beside {small['name']}", large, small, 1.25)
    bench.done(place)
