"""What the disk does: small files synced one by one, and a gibibyte written and synced at once."""

import os
import time

from harness.measuring import Ballast, sync


def run(bench):
    place = bench.place("disk")
    begin = time.perf_counter()
    for number in range(200):
        descriptor = os.open(place / str(number), os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, b"x" * 2048)
        os.fsync(descriptor)
        os.close(descriptor)
    rate = 200 / (time.perf_counter() - begin)
    chunk = os.urandom(2**20)
    with Ballast(bench.sizes.written_mib * 2**20 * 3 // 2):
        sync(place)
    begin = time.perf_counter()
    descriptor = os.open(place / "large", os.O_WRONLY | os.O_CREAT)
    for _ in range(bench.sizes.written_mib):
        os.write(descriptor, chunk)
    written = time.perf_counter() - begin
    sync(place)
    synced = time.perf_counter() - begin
    os.close(descriptor)
    gigabytes = bench.sizes.written_mib * 2**20 / 1e9
    bench.value("disk", "small files created and synced one by one, a second", rate, "", None)
    bench.value("disk", f"{bench.sizes.written_mib} MiB written, not synced", gigabytes / written, "GB/s", None)
    bench.value("disk", f"{bench.sizes.written_mib} MiB written and synced", gigabytes / synced, "GB/s", None)
    bench.done(place)
