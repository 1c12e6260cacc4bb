"""Runs commands in turn and measures each: time, the wait for the disk, processor time, memory, bytes read."""

import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile


class Contestant:
    """One program doing one kind of work. Only `command` is timed."""

    def __init__(self, name, place):
        self.name = name
        self.place = place
        self.samples = []

    def set_up(self):
        """Once, before the first round."""
        self.place.mkdir(parents=True, exist_ok=True)

    def prepare(self):
        """Before each round."""

    def command(self):
        raise NotImplementedError

    def barrier(self, stdout):
        """After each round: how long the disk was waited for within the command, in seconds; None
        where the command does not wait, and the wait is to be measured after it."""
        return 0.0

    def clean_up(self):
        """After each round."""
        remove(self.place / "out")


class Command(Contestant):
    """A command that needs nothing made ready and leaves nothing behind."""

    def __init__(self, name, place, command):
        super().__init__(name, place)
        self.parts = command

    def command(self):
        return self.parts

    def clean_up(self):
        pass


def compare(contestants, rounds, memory=0, settle=True):
    """Alternates: A B C A B C …, and returns a summary of each.

    `memory` is how many bytes of memory a run may fill: they are ready for each. `settle` lets the
    disk take what the one before left behind; for what takes milliseconds it would only disturb.
    """
    for contestant in contestants:
        contestant.set_up()
    with Ballast(memory) as ballast:
        for number in range(rounds):
            for contestant in contestants:
                contestant.prepare()
                if settle:
                    sync(contestant.place)
                ballast.release()
                contestant.samples.append(sample(contestant, with_peak=settle))
                contestant.clean_up()
                ballast.hold()
                if settle:
                    sync(contestant.place)
            if settle and rounds > 1:
                print(f"   round {number + 1} of {rounds}", file=sys.stderr)
    return [summary(contestant) for contestant in contestants]


def sample(contestant, with_peak):
    """One run. `apart` is its time without waiting for the disk, `durable` with it."""
    taken, stdout = measure(contestant.command(), with_peak)
    inside = contestant.barrier(stdout)
    if inside is None:
        begin = time.perf_counter()
        sync(contestant.place)
        taken["apart"], taken["durable"] = taken["wall"], taken["wall"] + time.perf_counter() - begin
    else:
        taken["apart"], taken["durable"] = taken["wall"] - inside, taken["wall"]
    return taken


def summary(contestant):
    """Medians, and the range of the time without the wait."""
    samples = contestant.samples

    def values(field):
        return [one[field] for one in samples if field in one]

    def median(field):
        return statistics.median(values(field)) if values(field) else None

    return {
        "name": contestant.name,
        "rounds": len(samples),
        "apart": median("apart"),
        "minimum": min(values("apart")),
        "maximum": max(values("apart")),
        "durable": median("durable"),
        "cpu": median("cpu"),
        "peak_mib": max(values("peak_mib"), default=None),
        "read_mib": median("read_mib"),
        "samples": samples,
    }


def measure(command, with_peak):
    """Wall and processor time in seconds and bytes read in MiB of one run, and its output; where
    `with_peak`, peak memory in MiB, of its largest process.

    Peak memory is asked of GNU time, which starts the command with next to none of its own (a process
    begins with the peak of whoever starts it) and takes half a millisecond for it.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, tempfile.NamedTemporaryFile() as peak:
        command = [str(part) for part in command]
        prefix = ["time", "--quiet", "--format=%M", f"--output={peak.name}", "--"] if with_peak else []
        begin = time.perf_counter()
        process = subprocess.Popen([*prefix, *command], stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        wall = time.perf_counter() - begin
        # It has ended and is not reaped: the kernel still says what it did.
        read = bytes_read(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        if process.returncode != 0:
            errors.seek(0)
            message = (out.read() + errors.read()).decode(errors="replace")
            sys.exit(f"{' '.join(command)}\nended with status {process.returncode}:\n{message}")
        taken = {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime}
        if read is not None:
            taken["read_mib"] = read / 2**20
        if with_peak:
            taken["peak_mib"] = int(peak.read()) / 1024
        return taken, out.read()


def bytes_read(pid):
    """What read and its kin returned to a process, from memory or disk; mapped files do not count.
    None where only root may know."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines():
            if line.startswith("rchar:"):
                return int(line.split()[1])
    return None


class Ballast:
    """Memory that is held between runs and free during them.

    A virtual machine may give free memory back to its host within seconds. Whoever touches it first
    after that waits for the host, for up to two seconds a gigabyte: longer than the work that is
    measured, and only for those who come after a pause.
    """

    HOLD = (
        "import mmap, sys; flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE; "
        "held = mmap.mmap(-1, int(sys.argv[1]), flags=flags); print(flush=True); sys.stdin.read()"
    )

    def __init__(self, size):
        self.size = min(size, available_memory() // 2)
        self.holder = None

    def hold(self):
        if self.size == 0 or self.holder:
            return
        command = [sys.executable, "-S", "-E", "-c", self.HOLD, str(self.size)]
        self.holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.holder.stdout.readline()

    def release(self):
        if self.holder:
            self.holder.stdin.close()
            self.holder.wait()
            self.holder.stdout.close()
            self.holder = None

    def __enter__(self):
        self.hold()
        return self

    def __exit__(self, *_):
        self.release()


def available_memory():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def run(command, **options):
    """Runs what is not measured; ends the whole script where it fails."""
    command = [str(part) for part in command]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with status {result.returncode}:\n{result.stdout}{result.stderr}")
    return result


def pipe(command, content, into):
    """Runs a command from one open file to another."""
    subprocess.run(command, stdin=content, stdout=into, check=True)


def unzip(archive, into):
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(into)


def output(command, **options):
    return run(command, **options).stdout.strip()


def sync(path):
    """Waits until the file system of a path has all on its disk."""
    subprocess.run(["sync", "-f", path], check=True)


def remove(tree):
    """Removes a tree, also one of read-only directories."""
    if tree.exists():
        make_writable(tree)
        subprocess.run(["rm", "-rf", tree], check=True)


def make_writable(tree):
    """So that one without root can move and remove what is in it."""
    if os.geteuid() != 0:
        find = ["find", tree, "-type", "d", "!", "-perm", "-u+w", "-exec", "chmod", "u+w", "{}", "+"]
        subprocess.run(find, check=True)
