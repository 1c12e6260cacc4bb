"""The programs that drystone is measured beside, and the wheels they all get."""

import pathlib
import platform
import shutil
import sys

from .measuring import Contestant, output, remove, run

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
BENCH = REPOSITORY / "target" / "bench"
WHEELS = REPOSITORY / "target" / "ci" / "wheels"

# Debian package by program.
PACKAGES = {
    "b3sum": "b3sum",
    "bsdtar": "libarchive-tools",
    "nginx": "nginx-light",
    "ostree": "ostree",
    "strace": "strace",
    "time": "time",
    "unzip": "unzip",
    "xz": "xz-utils",
    "zstd": "zstd",
}


class Unpacker(Contestant):
    """unzip and bsdtar: archive to directory, nothing else."""

    def __init__(self, name, place, wheel):
        super().__init__(name, place)
        out = place / "out"
        self.arguments = {"unzip": ["-q", wheel, "-d", out], "bsdtar": ["-xf", wheel, "-C", out]}[name]

    def prepare(self):
        (self.place / "out").mkdir()

    def command(self):
        return [self.name, *self.arguments]

    def barrier(self, stdout):
        return None


class Uv(Contestant):
    """uv pip install --target: with an empty cache, or with the wheel in the cache."""

    def __init__(self, place, wheel, warm):
        super().__init__("uv", place)
        self.wheel, self.warm = wheel, warm

    def set_up(self):
        super().set_up()
        if self.warm:
            run(self.command())
            self.clean_up()

    def command(self):
        system = "x86_64-pc-windows-msvc" if is_for_windows(self.wheel) else "x86_64-manylinux_2_28"
        options = ["--no-deps", "--no-index", "--no-config", "--quiet", "--link-mode", "hardlink"]
        # An interpreter by its path: looking for one takes uv a while, and is not what is measured.
        options += ["--python", pathlib.Path(sys.executable).resolve()]
        options += ["--python-platform", system, "--python-version", "3.11"]
        options += ["--cache-dir", self.place / "cache", "--target", self.place / "out"]
        return [uv(), "pip", "install", *options, self.wheel]

    def barrier(self, stdout):
        return None

    def clean_up(self):
        super().clean_up()
        if not self.warm:
            remove(self.place / "cache")


class CopyOfLinks(Contestant):
    """cp -al: a second tree of hard links to a tree. It knows nothing of a store."""

    def __init__(self, place, source):
        super().__init__("cp -al", place)
        self.source = source

    def command(self):
        return ["cp", "-al", self.source, self.place / "out"]

    def barrier(self, stdout):
        return None


def is_for_windows(wheel):
    return wheel.name.endswith("win_amd64.whl")


def uv():
    return BENCH / "uv" / "bin" / "uv"


def bring(programs, install):
    """Which of the programs are here; with `install`, all of them after this."""
    missing = [PACKAGES[name] for name in programs if not which(name)]
    if missing and install:
        run([REPOSITORY / "ci" / "install-packages", *missing])
    if not uv().exists():
        options = ["--quiet", "--no-cache-dir", "--disable-pip-version-check"]
        run([sys.executable, "-m", "pip", "install", *options, "--target", BENCH / "uv", "uv"])
    return {name for name in programs if which(name)}


def which(name):
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def bring_wheel(wanted, system="windows"):
    """A wheel by its path, or brought by pip as NAME==VERSION; where the CI keeps them too."""
    if "==" not in wanted:
        return pathlib.Path(wanted).resolve(strict=True)
    run([REPOSITORY / "ci" / "wheels", WHEELS, system, wanted])
    name, version = wanted.split("==")
    ending = "win_amd64" if system == "windows" else "x86_64"
    return next(WHEELS.glob(f"{name.replace('-', '_')}-{version}-*{ending}.whl"))


def versions(drystone, programs):
    """Who took part, in their own words."""
    found = {"drystone": output([drystone, "--version"]), "uv": output([uv(), "--version"])}
    found["cp"] = output(["cp", "--version"]).splitlines()[0]
    ask = {"unzip": "-v", "nginx": "-v"}
    for name in sorted(programs & {"b3sum", "bsdtar", "nginx", "ostree", "unzip"}):
        result = run([which(name), ask.get(name, "--version")])
        lines = (result.stdout + result.stderr).strip().splitlines()
        found[name] = " ".join(line.strip() for line in lines[: 2 if name == "ostree" else 1])
    return found


def machine():
    """What it ran on."""
    cpu = "unknown processor"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    memory = next(line for line in pathlib.Path("/proc/meminfo").read_text().splitlines() if "MemTotal" in line)
    return {"processor": cpu, "memory_gib": round(int(memory.split()[1]) / 2**20, 1), "kernel": platform.release()}
