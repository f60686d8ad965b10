"""Reading PLINK files needs memory for the result and at most 64 MiB more."""

import subprocess
import sys

import pytest

from object_server import serving

INDIVIDUALS, VARIANTS = 40_000, 30_000  # a .bed of 300 MB
TRANSPOSE_BYTES = 64 << 20
# Read VmHWM, because the peak of getrusage includes that of the parent process.
PEAK_MEMORY_SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from seqloom.io import open_bed

bed = open_bed(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), skip_format_check=True)
index = eval(sys.argv[4])
bed.read(np.s_[0, :2], num_threads=2)
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) << 10
before = peak()
array = bed.read(index, sys.argv[5], sys.argv[6], num_threads=2)
print(peak() - before - array.nbytes)
"""
EVERY_TENTH_INDEX = "np.s_[::10, ::10]"
READ_ARGUMENTS = [
    ("np.s_[:, :]", "int8", "F"),
    ("np.s_[:, :]", "int8", "C"),
    ("np.s_[:20_000, ::4]", "float64", "F"),
    ("np.s_[:20_000, ::4]", "float64", "C"),
    (EVERY_TENTH_INDEX, "float64", "F"),
    (EVERY_TENTH_INDEX, "float32", "C"),
    ("(np.random.default_rng(0).permutation(40_000)[:9_000], None)", "int8", "C"),
    ("np.s_[5, :]", "float64", "F"),
]


@pytest.fixture(scope="module", params=[1, 0], ids=["SNP", "individual"])
def bed(request, tmp_path_factory):
    """Write a .bed of zeros, ordered by variant or by individual."""
    path = tmp_path_factory.mktemp("bed") / "x.bed"
    with path.open("wb") as file:
        file.write(bytes([0x6C, 0x1B, request.param]))
        file.truncate(3 + INDIVIDUALS // 4 * VARIANTS)
    return path


def extra_memory(location, index, kind, order):
    """Return the bytes of memory that a read needs beyond its result, at the peak."""
    numbers = [str(INDIVIDUALS), str(VARIANTS)]
    command = [
        sys.executable,
        "-c",
        PEAK_MEMORY_SCRIPT,
        location,
        *numbers,
        index,
        kind,
        order,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize(("index", "kind", "order"), READ_ARGUMENTS)
def test_a_read_needs_at_most_64_mib_beyond_its_result(bed, index, kind, order):
    assert extra_memory(bed, index, kind, order) < TRANSPOSE_BYTES


@pytest.mark.parametrize(("index", "kind", "order"), [READ_ARGUMENTS[2], READ_ARGUMENTS[5]])
def test_a_read_from_a_url_also_needs_memory_for_its_requests(bed, index, kind, order):
    with serving() as server:
        url = server.put(bed)
        assert extra_memory(url, index, kind, order) < TRANSPOSE_BYTES + 10 * 8_000_000
