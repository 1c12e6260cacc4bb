"""Where it is measured: a fresh ext4 with a journal, or a directory that the caller names."""

import atexit
import contextlib
import os
import pathlib
import sys
import tempfile

from .measuring import output, remove, run


def journaled(place, gigabytes):
    """An ext4 with a journal in a file, mounted: what a person's disk does, and a fresh one."""
    if os.geteuid() != 0:
        sys.exit("a file system is mounted for this: run it as root, or name a --directory to measure on")
    image, mount = place / "disk.img", place / "disk"
    if mount.is_mount():
        sys.exit(f"{mount} is mounted: another comparison runs, or one was killed; umount it then")
    mount.mkdir(parents=True, exist_ok=True)
    image.unlink(missing_ok=True)
    run(["truncate", "-s", f"{gigabytes}G", image])
    atexit.register(image.unlink)
    run(["mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", image])
    loop = output(["losetup", "--show", "-f", "--direct-io=on", image])
    atexit.register(run, ["losetup", "-d", loop])
    run(["mount", "-o", "noatime", loop, mount])
    atexit.register(run, ["umount", mount])
    return mount


@contextlib.contextmanager
def scratch(directory):
    """A directory of our own in it; TMPDIR is there too."""
    work = pathlib.Path(tempfile.mkdtemp(prefix="compare-", dir=directory))
    (work / "tmp").mkdir()
    os.environ["TMPDIR"] = str(work / "tmp")
    try:
        yield work
    finally:
        tempfile.tempdir = None
        os.environ.pop("TMPDIR")
        remove(work)
