"""The transposed copy of a .bed is atomic, is verified, and needs bounded memory."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl


def open_dataset(path, cache, **options):
    return sl.data.GenotypeDataset(path, memory=0, cache=cache, **options)


def copies(cache):
    return sorted(cache.glob("genotypes/*/codes.bed"))


def test_a_transposed_copy_of_a_bed_is_written_once(write_bed, cache):
    path = write_bed(33, 50).path
    first = open_dataset(path, cache).to_numpy()["inputs"]
    [made] = copies(cache)
    before = made.stat()
    np.testing.assert_array_equal(open_dataset(path, cache).to_numpy()["inputs"], first)
    assert copies(cache) == [made]
    assert made.stat().st_ino == before.st_ino


def test_the_cached_copy_of_a_bed_is_a_sample_major_bed(write_bed, cache):
    written = write_bed(33, 50)
    open_dataset(written.path, cache)
    data = copies(cache)[0].read_bytes()
    assert data[:3] == b"\x6c\x1b\x00"
    assert len(data) == 3 + 33 * 13


def test_a_cached_bed_copy_ignores_file_name_and_time(write_bed, cache, tmp_path):
    path = write_bed(33, 50).path
    open_dataset(path, cache)
    for suffix in ("bed", "bim", "fam"):
        path.with_suffix(f".{suffix}").rename(tmp_path / f"b.{suffix}")
    os.utime(tmp_path / "b.bed", (1, 1))
    open_dataset(tmp_path / "b.bed", cache)
    assert len(copies(cache)) == 1


def test_a_bed_with_changed_content_gets_a_new_cached_copy(write_bed, cache):
    written = write_bed(33, 50)
    before = written.path.stat()
    first = open_dataset(written.path, cache).to_numpy()["inputs"]
    other = write_bed(33, 50, seed=1)
    os.utime(other.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert other.path.stat().st_size == before.st_size
    second = open_dataset(other.path, cache).to_numpy()["inputs"]
    assert len(copies(cache)) == 2
    assert (first != second).any()


def test_another_selection_of_variants_gets_another_cached_copy(write_bed, cache):
    path = write_bed(33, 50).path
    open_dataset(path, cache, variants=[3, 4])
    open_dataset(path, cache, variants=[4, 3])
    assert len(copies(cache)) == 2


def test_a_cached_bed_copy_with_a_corrupt_row_is_written_again(write_bed, cache):
    path = write_bed(33, 50).path
    data = open_dataset(path, cache)
    expected = data.to_numpy()["inputs"].copy()
    [made] = copies(cache)
    damage(made, 3 + 13 * 7)
    with pytest.raises(sl.errors.FormatError, match="row 7 is not what was written"):
        data.batch([7])
    assert data.batch([6])["inputs"].shape == (1, 50)
    np.testing.assert_array_equal(open_dataset(path, cache).to_numpy()["inputs"], expected)


def damage(path, byte):
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.seek(byte)
        old = file.read(1)
        file.seek(byte)
        file.write(bytes([old[0] ^ 1]))


@pytest.mark.parametrize("name", ["codes.bed", "sums", "facts.json"])
@pytest.mark.parametrize("size", [0, 2, 100])
def test_a_truncated_cached_bed_copy_is_written_again(write_bed, cache, name, size):
    path = write_bed(33, 50).path
    expected = open_dataset(path, cache).to_numpy()["inputs"]
    [made] = copies(cache)
    part = made.with_name(name)
    part.chmod(0o644)
    os.truncate(part, min(size, part.stat().st_size - 1))
    np.testing.assert_array_equal(open_dataset(path, cache).to_numpy()["inputs"], expected)


TRANSPOSE_SCRIPT_TO_KILL = """
import os, signal, sys
import seqloom as sl
sl.data.GenotypeDataset(
    sys.argv[1],
    memory=0,
    cache=sys.argv[2],
    labels=False,
    progress=lambda done, total: done and os.kill(os.getpid(), signal.SIGKILL),
)
"""


def test_an_unfinished_bed_copy_of_a_killed_process_is_not_used(write_bed, cache):
    path = write_bed(2000, 3000).path
    command = [sys.executable, "-c", TRANSPOSE_SCRIPT_TO_KILL, str(path), str(cache)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    # If the process was killed after the last step, the copy is complete.
    left = copies(cache)
    data = open_dataset(path, cache)
    held = sl.data.GenotypeDataset(path)
    np.testing.assert_array_equal(data.to_numpy()["inputs"], held.to_numpy()["inputs"])
    assert len(copies(cache)) == 1
    assert not list(cache.glob("genotypes/.part-*")), left


def test_a_missing_folder_for_the_cached_bed_copy_is_an_error(write_bed, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(sl.errors.FileError, match="cannot cache"):
        open_dataset(write_bed().path, tmp_path / "file" / "cache")


def test_progress_is_reported_while_a_bed_is_transposed(write_bed, cache):
    progress = []
    open_dataset(write_bed(40, 80).path, cache, progress=lambda *now: progress.append(now))
    assert progress[-1] == (800, 800)


def test_the_progress_function_can_stop_the_transposition_of_a_bed(write_bed, cache):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_dataset(write_bed(40, 80).path, cache, progress=stop)
    assert not copies(cache)


def test_a_bed_that_changed_is_an_error_in_a_worker_process(write_bed, cache):
    import pickle

    path = write_bed(33, 50).path
    kept = pickle.dumps(open_dataset(path, cache))
    write_bed(33, 50, seed=1)
    with pytest.raises(sl.errors.FormatError, match="has changed since"):
        pickle.loads(kept).batch([0])  # noqa: S301 - its own


# The peak memory that getrusage reports includes that of the parent process.
PEAK_MEMORY_SCRIPT = """
import sys
from pathlib import Path
import seqloom as sl
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
before = peak()
data = sl.data.GenotypeDataset(
    sys.argv[1], memory=0, cache=sys.argv[2], labels=False, num_threads=2
)
print(peak() - before)
"""


def test_transposing_a_bed_takes_at_most_256_mib(tmp_path, cache):
    """Transpose a file of 400 MB, with tiles of the maximum size."""
    individuals, variants = 40_000, 40_000
    path = tmp_path / "large.bed"
    line = np.random.default_rng(0).integers(0, 256, individuals // 4 * 100, np.uint8)
    with path.open("wb") as file:
        file.write(b"\x6c\x1b\x01")
        for _ in range(variants // 100):
            file.write(line.data)
    path.with_suffix(".fam").write_text(
        "".join(f"{i} {i} 0 0 0 0\n" for i in range(individuals))
    )
    path.with_suffix(".bim").write_text(
        "".join(f"1\ts{i}\t0\t{i}\tA\tC\n" for i in range(variants))
    )
    command = [sys.executable, "-c", PEAK_MEMORY_SCRIPT, str(path), str(cache)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(found.stdout) < 256 * 1024
    assert_transposed(path, copies(cache)[0], individuals, variants)


def assert_transposed(path, made, individuals, variants):
    source = np.memmap(path, np.uint8, "r", 3).reshape(variants, individuals // 4)
    transposed = np.memmap(made, np.uint8, "r", 3).reshape(individuals, variants // 4)
    for person in (0, 1, 28_671, 28_672, 39_999):
        codes = source[:, person // 4] >> (2 * (person % 4)) & 3
        found = (transposed[person][:, None] >> np.arange(0, 8, 2)) & 3
        np.testing.assert_array_equal(found.reshape(-1), codes)


def test_the_hash_of_a_large_bed_is_computed_once(tmp_path, cache):
    path = tmp_path / "large.bed"
    path.write_bytes(b"\x6c\x1b\x01" + bytes(range(1, 65)) * (1 << 20))
    path.with_suffix(".fam").write_text(
        "".join(f"{i} {i} 0 0 0 0\n" for i in range(1 << 14))
    )
    path.with_suffix(".bim").write_text(
        "".join(f"1\ts{i}\t0\t{i}\tA\tC\n" for i in range(1 << 14))
    )
    time.sleep(2.1)  # the hash of a file younger than 2 s is not cached
    options: dict[str, Any] = {"memory": 0, "by": "variant", "cache": cache}
    first = sl.data.GenotypeDataset(path, **options).fingerprint()
    [kept] = cache.glob("contents/*.json")
    kept.write_text(kept.read_text().replace('"content": "', '"content": "x'))
    assert sl.data.GenotypeDataset(path, **options).fingerprint() != first
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x01")
    changed = sl.data.GenotypeDataset(path, **options).fingerprint()
    assert changed != first
    assert Path(kept).exists()
