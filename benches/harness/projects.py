"""Projects for drystone to build, and archives for them that nobody publishes."""

import functools
import hashlib
import json
import os
import pathlib
import zipfile

from .measuring import Contestant, remove, run
from .peers import is_for_windows


class Package:
    """One archive as a package; `url` where it is fetched from, else it lies in the project."""

    def __init__(self, name, archive, version="1", into=None, url=None, more=""):
        self.name, self.archive, self.version = name, pathlib.Path(archive), version
        self.into, self.url, self.more = into, url, more

    def text(self, platform):
        into = f'\n            into "{self.into}"' if self.into else ""
        return f"""
package "{self.name}" {{
    version "{self.version}" {{
        source "{platform}" {{
            url "{self.url or f'file:{self.archive.name}'}"
            sha256 "{sha256(self.archive)}"
            size {self.archive.stat().st_size}{into}
        }}{self.more}
    }}
}}
"""


class Project:
    """A directory with an env.kdl, the store it uses, and the program."""

    def __init__(self, program, place, store):
        self.program, self.directory, self.store = program, place, store

    def write(self, packages, platform=None, more=""):
        """Writes the manifest, puts the archives beside it, and locks."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if platform is None:
            platform = "x86_64-windows" if is_for_windows(packages[0].archive) else own_platform()
        for package in packages:
            inside = self.directory / package.archive.name
            if package.url is None and not inside.exists():
                os.link(package.archive, inside)
        uses = "".join(f'\n    use "{package.name}" "{package.version}"' for package in packages)
        text = f'environment "bench" {{\n    platform "{platform}"{uses}\n}}\n{more}'
        text += "".join(package.text(platform) for package in packages)
        (self.directory / "env.kdl").write_text(text)
        self.run("lock")

    def command(self, *arguments):
        return [self.program, "--project", self.directory, "--store", self.store, *arguments]

    def run(self, *arguments):
        return run(self.command(*arguments)).stdout

    def build(self):
        """Builds, and says what was built."""
        return json.loads(self.run("--json", "build"))


class Build(Contestant):
    """drystone build from a lock: verify, unpack, store, realise and record; or, warm, with all in
    the store but the realised directory and the generation."""

    def __init__(self, name, place, program, packages, warm=False):
        super().__init__(name, place)
        self.project = Project(program, place / "project", place / "store")
        self.packages, self.warm = packages, warm

    def set_up(self):
        super().set_up()
        self.project.write(self.packages)
        if self.warm:
            self.project.build()
        self.clean_up()

    def command(self):
        return self.project.command("--json", "build")

    def barrier(self, stdout):
        return float(json.loads(stdout)["barrier_seconds"])

    def clean_up(self):
        store = self.project.store
        remove(self.project.directory / ".drystone")
        remove(store / "realised" if self.warm else store)
        if self.warm:
            (store / "realised").mkdir(mode=0o700)


@functools.cache
def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def own_platform():
    return f"{os.uname().machine}-linux"


def unpacked_size(archive):
    with zipfile.ZipFile(archive) as opened:
        return sum(entry.file_size for entry in opened.infolist())


def memory_for(archive):
    """How much memory a build of a wheel may fill: what is unpacked and the archive once more, and
    half as much again."""
    return (unpacked_size(archive) + archive.stat().st_size) * 3 // 2 + 2**29


def many_files(path, count, seed):
    """A zip archive of so many small files, no two alike, a thousand in a directory."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(count):
            archive.writestr(f"{number // 1000:04}/{number:07}.txt", f"{seed} {number}\n")
    return path


def program_archive(path, program, more=()):
    """A zip archive of one executable file, and further (name, bytes)."""
    with zipfile.ZipFile(path, "w") as archive:
        entry = zipfile.ZipInfo(program.name)
        entry.create_system = 3  # Unix: the mode is in the upper half of the attributes
        entry.external_attr = 0o100755 << 16
        archive.writestr(entry, program.read_bytes())
        for name, content in more:
            archive.writestr(name, content)
    return path
