"""Corrupt and changed files are errors, never wrong genotypes."""

import subprocess
import sys
import threading
from contextlib import suppress
from itertools import product

import numpy as np
import pytest

from genotypes import Specimen
from seqloom.errors import FormatError
from seqloom.io import open_bed, to_bed

RNG = np.random.default_rng(0)
BED_LAYOUTS = ["SNP", "individual"]
READ_INDICES = [None, np.s_[0, 0], np.s_[::2, -1]]


def some(*shape):
    """Random genotypes with many of each type."""
    return RNG.choice(np.array([0, 1, 2, -127], np.int8), shape)


def raises_always(path, shape, *, kinds=("cut", "length", "header", "format")):
    """Return whether each method of reading a file raises an error."""
    for index, order in product(READ_INDICES, "CF"):
        with pytest.raises(FormatError) as error:
            open_bed(path, *shape).read(index, order=order)
        assert error.value.kind in kinds
        assert str(path) in str(error.value)


@pytest.mark.parametrize("major", BED_LAYOUTS)
def test_a_bed_truncated_at_any_byte_is_an_error(tmp_path, major):
    path = Specimen(some(7, 11), major).write(tmp_path / "x.bed")
    content = path.read_bytes()
    for size in range(len(content)):
        path.write_bytes(content[:size])
        raises_always(path, (7, 11), kinds=("header",) if size < 3 else ("cut",))


@pytest.mark.parametrize("major", BED_LAYOUTS)
def test_a_bed_with_extra_bytes_at_any_offset_is_an_error(tmp_path, major):
    path = Specimen(some(7, 11), major).write(tmp_path / "x.bed")
    content = path.read_bytes()
    for place, more in product(range(len(content) + 1), (1, 2, 22)):
        path.write_bytes(content[:place] + b"\x6c" * more + content[place:])
        raises_always(path, (7, 11), kinds=("header", "length"))


@pytest.mark.parametrize("major", BED_LAYOUTS)
def test_any_flipped_bit_in_the_header_of_a_bed_is_an_error(tmp_path, major):
    path = Specimen(some(7, 11), major).write(tmp_path / "x.bed")
    content = path.read_bytes()
    for bit in range(24):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        raises_always(path, (7, 11))


@pytest.mark.parametrize(("major", "flipped"), [BED_LAYOUTS, BED_LAYOUTS[::-1]])
def test_padding_bits_reveal_a_wrong_layout_byte_in_a_bed_header(tmp_path, major, flipped):
    # Six individuals by three variants are stored as 3 rows of 2 bytes, or as 6 rows of
    # 1 byte.
    shape = (6, 3) if major == "SNP" else (3, 6)
    path = Specimen(np.full(shape, 1, np.int8), major).write(tmp_path / "x.bed")
    flip_mode(path)
    assert open_bed(path, *shape).major == flipped
    with pytest.raises(FormatError, match=r"padding|fill"):
        open_bed(path, *shape).read()


@pytest.mark.parametrize("shape", [(8, 12), (5, 5)])
def test_a_wrong_layout_byte_is_not_detected_without_padding_bits(tmp_path, shape):
    path = Specimen(some(*shape), "SNP").write(tmp_path / "x.bed")
    flip_mode(path)
    assert open_bed(path, *shape).read().shape == shape


def flip_mode(path):
    """Change the mode in the header to the other layout."""
    content = bytearray(path.read_bytes())
    content[2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("rows", [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("suffix", ["fam", "bim"])
@pytest.mark.parametrize("major", BED_LAYOUTS)
@pytest.mark.parametrize("rest", range(4))
def test_a_fam_or_bim_with_missing_or_additional_rows_is_an_error(
    tmp_path, rows, suffix, major, rest
):
    # With 4n genotypes, the last byte is full; with 4n + 1, the last byte has the most
    # padding.
    path = tmp_path / "x.bed"
    to_bed(path, some(80 + rest, 80 + rest), major=major)
    table = path.with_suffix(f".{suffix}")
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(lines[:rows] if rows < 0 else lines + lines[:rows]))
    is_of_places = (suffix == "fam") == (major == "SNP")
    if is_of_places and rest and rest < rest + rows <= 4:
        # The same bytes could encode individuals who are homozygous A1 for every
        # variant.
        with pytest.warns(UserWarning, match=f"the last {rows} of .* too long"):
            open_bed(path).read()
        return
    with pytest.raises(FormatError):
        open_bed(path).read()


def test_a_bed_truncated_during_reading_is_an_error(tmp_path):
    found = read_while(tmp_path, lambda file, size: file.truncate(size // 2))
    assert "cut" in found


def test_a_bed_extended_during_reading_is_an_error(tmp_path):
    def grow(file, size):
        file.seek(size)
        file.write(b"more")

    assert "length" in read_while(tmp_path, grow)


def read_while(folder, change):
    """Read a file repeatedly until it was changed; return the types of errors."""
    values = np.tile(some(4_000, 100), (1, 30))
    path = Specimen(values, "SNP").write(folder / "x.bed")
    size, bed, kinds = path.stat().st_size, open_bed(path, *values.shape), []
    for seconds in (0, 0.002, 0.004, 0.008):
        with path.open("r+b", buffering=0) as file:
            content = file.read()
            timer = threading.Timer(seconds, change, [file, size])
            timer.start()
            while not kinds or timer.is_alive():
                kinds.append(kind_of_read(bed, values))
            timer.join()
            file.truncate(0)
            file.seek(0)
            file.write(content)
    return set(kinds)


def kind_of_read(bed, values):
    """Return the error of a read, or check the values that it returns."""
    try:
        found = bed.read(dtype="int8")
    except FormatError as error:
        return error.kind
    np.testing.assert_array_equal(found, values)
    return "none"


WRITE_SCRIPT = """
import resource, sys
import numpy as np
from seqloom.io import create_bed, to_bed
limit = int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
values = np.full((400, 500), 2, np.int8)
properties = {"iid": [f"new{n}" for n in range(400)]}
if sys.argv[3] == "to_bed":
    to_bed(sys.argv[1], values, properties=properties)
else:
    with create_bed(sys.argv[1], 400, 500, properties=properties) as bed:
        for line in values.T:
            bed.write(line)
"""
WRITER_NAMES = ["to_bed", "create_bed"]


def old_set(folder):
    """Write the PLINK set that will be replaced; return its files and their contents."""
    to_bed(folder / "x.bed", np.zeros((3, 4)), properties={"iid": ["old"] * 3})
    return content_of(folder)


def content_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def write(folder, limit, writer):
    """Replace a PLINK set in another process."""
    command = [sys.executable, "-c", WRITE_SCRIPT, folder / "x.bed", str(limit), writer]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("writer", WRITER_NAMES)
@pytest.mark.parametrize("limit", [1, 2, 3, 4_000, 9_000, 15_000, 50_002])
def test_writing_beyond_a_file_size_limit_keeps_the_old_bed(tmp_path, writer, limit):
    before = old_set(tmp_path)
    done = write(tmp_path, limit, writer)
    assert "FileError" in done.stderr, done.stderr
    assert "cannot be written: File too large" in done.stderr
    assert content_of(tmp_path) == before


@pytest.fixture(params=[20_000, 40_000, 60_000])
def small_disk(request, tmp_path):
    """A file system with little free space."""
    (tmp_path / "disk").mkdir()
    unmount = ["umount"]
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs"]
    unmount = ["umount"]
    with suppress(FileNotFoundError):
        done = subprocess.run(
            [*mount, tmp_path / "disk"], capture_output=True, text=True, check=False
        )
        if not done.returncode:
            yield tmp_path / "disk"
            subprocess.run([*unmount, tmp_path / "disk"], check=True)
            return
    pytest.skip("a file system can only be mounted by root")


@pytest.mark.parametrize("writer", WRITER_NAMES)
def test_writing_a_bed_to_a_full_disk_keeps_the_old_files(small_disk, writer):
    before = old_set(small_disk)
    done = write(small_disk, 0, writer)
    assert "FileError" in done.stderr, done.stderr
    assert "cannot be written: No space left on device" in done.stderr
    assert content_of(small_disk) == before
    bed = open_bed(small_disk / "x.bed")
    assert (bed.shape, bed.iid[0]) == ((3, 4), "old")
