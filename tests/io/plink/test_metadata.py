"""Tables of individuals and variants: reading, errors and writing."""

import os
import subprocess
import sys
from pathlib import Path

import bed_reader
import numpy as np
import pytest
from hypothesis import given, strategies as st

from seqloom.errors import ArgumentError, FormatError, MissingFileError, NumberRangeError
from seqloom.io.plink._tables import FAM_BIM_COLUMNS, count_lines, read_columns, write_table

PLINK_DATA_FOLDER = Path(os.environ.get("SEQLOOM_DATA", "/nonexistent")) / "plink"
NUMERIC_COLUMNS = {"sex": np.int32, "bp_position": np.int32, "cm_position": np.float32}
EXAMPLE_LINE_OF_TABLE = {"fam": b"f i 0 0 1 2\n", "bim": b"1\ts\t0\t7\tA\tG\n"}


def slowly(text, suffix):
    """Split a table with Python."""
    rows = [line.split() for line in text.decode("utf-8-sig").split("\n") if line.split()]
    columns = zip(*rows, strict=True) if rows else [()] * 6
    return dict(zip(FAM_BIM_COLUMNS[suffix], columns, strict=True))


def check(text, suffix):
    """Compare the columns with those of a slow parser of the same bytes."""
    found = read_columns(text, suffix, FAM_BIM_COLUMNS[suffix])
    for name, values in slowly(text, suffix).items():
        expected = np.array(values, dtype=NUMERIC_COLUMNS.get(name, np.str_))
        assert found[name].dtype.kind == expected.dtype.kind
        np.testing.assert_array_equal(found[name], expected)
        assert len(found[name]) == count_lines(text, suffix)


@pytest.mark.parametrize("suffix", ["fam", "bim"])
@pytest.mark.parametrize("stem", ["small", "some_missing", "toydata.5chrom", "example"])
def test_fam_and_bim_columns_equal_those_of_bed_reader(stem, suffix):
    path = PLINK_DATA_FOLDER / f"{stem}.{suffix}"
    if not path.exists():
        pytest.skip("SEQLOOM_DATA names no folder with plink/")
    found = read_columns(path, suffix, FAM_BIM_COLUMNS[suffix])
    with bed_reader.open_bed(path.with_suffix(".bed")) as bed:
        for name in FAM_BIM_COLUMNS[suffix]:
            expected = bed.property_item(name)
            assert found[name].dtype.kind == expected.dtype.kind
            np.testing.assert_array_equal(found[name], expected)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n\r\n \t\n",
        b"f i 0 0 1 2",
        b"f i 0 0 1 2\r\ng j 0 0 2 1\r\n",
        b"  f \t i 0  0\t1 2 \t\n",
        b"#f i#1 0 0 1 2\n",
        b"f i 0 0 1 2\n\n \r\n\n",
        b"\xef\xbb\xbff i 0 0 1 2\n",
        b"\xef\xbb\xbf\n",
        "fä 中 0 0 1 \U0001f9ec\nf ii 0 0 2 x\n".encode(),
    ],
)
def test_unusual_fam_and_bim_lines_are_split_like_by_python(text):
    check(text, "fam")


RANDOM_WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1
)
RANDOM_BLANKS = st.text(" \t", min_size=1, max_size=3)


@given(
    rows=st.lists(
        st.tuples(
            RANDOM_WORDS,
            RANDOM_WORDS,
            RANDOM_WORDS,
            RANDOM_WORDS,
            st.integers(-9, 9),
            RANDOM_WORDS,
        )
    ),
    blank=RANDOM_BLANKS,
    end=st.sampled_from(["\n", "\r\n"]),
    tail=st.text(" \t\n"),
)
def test_random_fam_and_bim_text_is_split_like_by_python(rows, blank, end, tail):
    lines = [blank.join(map(str, row)) for row in rows]
    check((end.join(lines) + tail).encode(), "fam")


def test_a_bim_may_omit_the_centimorgan_column():
    found = read_columns(b"1 s 5 A G\nX t 6 C T\n", "bim", FAM_BIM_COLUMNS["bim"])
    assert found["bp_position"].tolist() == [5, 6]
    assert found["cm_position"].tolist() == [0, 0]
    assert found["allele_2"].tolist() == ["G", "T"]


def test_only_requested_fam_and_bim_columns_are_parsed_and_checked():
    found = read_columns(b"1 s X Y A G\n", "bim", ["sid"])
    assert set(found) == {"sid"}


@pytest.mark.parametrize(
    ("text", "number"),
    [(b"1.0", 1), (b"-3", -3), (b"+4", 4), (b"1e3", 1000), (b"2147483647", 2**31 - 1)],
)
def test_integers_in_a_bim_may_have_a_sign_or_leading_zeros(text, number):
    found = read_columns(b"1 s 0 " + text + b" A G\n", "bim", ["bp_position"])
    assert found["bp_position"].tolist() == [number]


@pytest.mark.parametrize("text", ["1.5", "A", "nan", "inf", "0x10", "1,000"])
def test_a_bim_position_that_is_not_an_integer_is_an_error_with_its_line(text):
    table = EXAMPLE_LINE_OF_TABLE["bim"] + f"1 s 0 {text} A G\n".encode()
    with pytest.raises(FormatError) as caught:
        read_columns(table, "bim", ["bp_position"], name="a.bim")
    assert str(caught.value) == (
        "a.bim: line 2, byte 18 of the text: bp_position: "
        f'expected an integer, found "{text}"'
    )


@pytest.mark.parametrize("text", [b"2147483648", b"-2147483649", b"1e10"])
def test_a_bim_position_beyond_32_bits_is_an_overflow_error(text):
    with pytest.raises(OverflowError, match=r"line 1.*bp_position.*32-bit integer"):
        read_columns(b"1 s 0 " + text + b" A G\n", "bim", ["bp_position"])


def test_centimorgans_beyond_float32_are_an_overflow_error():
    with pytest.raises(NumberRangeError, match="cm_position"):
        read_columns(b"1 s 1e39 5 A G\n", "bim", ["cm_position"])


@given(st.floats(width=64, allow_nan=False, allow_infinity=False))
def test_bim_centimorgans_are_rounded_to_float32_like_numpy(number):
    with np.errstate(over="ignore"):
        expected = np.array([str(number)]).astype(np.float32)
    if np.isfinite(expected[0]):
        text = f"1 s {number!r} 5 A G\n".encode()
        found = read_columns(text, "bim", ["cm_position"])["cm_position"]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("text", "suffix", "message"),
    [
        (
            b"f i 0 0 1\n",
            "fam",
            r"line 1, byte 0 of the text: expected 6 columns .*found 5",
        ),
        (b"f i 0 0 1 2 3\nf j 0 0 1 2\n", "fam", r"line 2.*expected 7 columns.*found 6"),
        (
            b"f i 0 0 1 2\n\nf j 0 0 1 2\n",
            "fam",
            r"line 2, byte 12 of the text: .*a blank line",
        ),
        (b"\nf i 0 0 1 2\n", "fam", r"line 1, byte 0 of the text: .*a blank line"),
        (b"1 s 0 1 A G\n1 s 1 A G\n", "bim", r"line 2.*expected 6 columns.*found 5"),
        (
            b"1 s 1 A G\n1 s 0 1 A G\n",
            "bim",
            r"line 2, byte 10 of the text: .* as in line 1, found 6",
        ),
        (
            b"f i 0 0 1 2\nf \xe9 0 0 1 2",
            "fam",
            r"line 2, byte 14 of the text: .*UTF-8.*0xe9",
        ),
        (b"f i 0 0 1 2\rg j 0 0 1 2", "fam", r"line 1, byte 11 of the text: .*a lone \\r"),
        (b"f i\x00 0 0 1 2\n", "fam", r"line 1, byte 3 of the text: .*control byte 0x00"),
        (b"\x1f\x8b\x08\x00", "bim", r"gzip: .*corrupt or truncated"),
        (b"1 \x8b\x08\x00", "bim", r"line 1, byte 2 of the text: .*UTF-8"),
    ],
)
def test_a_file_that_is_not_a_fam_or_bim_is_an_error_with_its_line(text, suffix, message):
    with pytest.raises(FormatError, match=f"^the .{suffix}: {message}"):
        read_columns(text, suffix, [FAM_BIM_COLUMNS[suffix][0]])


def test_errors_in_a_fam_or_bim_name_its_path(tmp_path):
    path = tmp_path / "a.fam"
    path.write_bytes(EXAMPLE_LINE_OF_TABLE["fam"] * 100_000 + b"\n\n")
    assert count_lines(path, "fam") == 100_000
    assert read_columns(path, "fam", ["iid"])["iid"].shape == (100_000,)
    path.write_bytes(b"f\n")
    with pytest.raises(FormatError, match=r"a\.fam: line 1"):
        read_columns(path, "fam", ["iid"])


def test_reading_a_missing_fam_or_bim_is_an_error(tmp_path):
    for read in (
        lambda p: count_lines(p, "fam"),
        lambda p: read_columns(p, "fam", ["iid"]),
    ):
        with pytest.raises(MissingFileError, match="no such file"):
            read(tmp_path / "a.fam")


def test_counting_the_lines_of_a_large_bim_skips_blank_lines(tmp_path):
    lines = (
        EXAMPLE_LINE_OF_TABLE["bim"] * (1 << 17)
        + b"\n" * (3 << 20)
        + EXAMPLE_LINE_OF_TABLE["bim"]
        + b" \n" * (1 << 20)
    )
    (tmp_path / "a.bim").write_bytes(lines)
    expected = (1 << 17) + (3 << 20) + 1
    assert count_lines(tmp_path / "a.bim", "bim") == count_lines(lines, "bim") == expected


def test_one_long_allele_does_not_increase_the_memory_of_all_rows():
    lines = [f"1 s{row} 0 {row} A G" for row in range(10_000)]
    lines[5000] = f"1 indel 0 1 {'ACGT' * 500} G"
    lines[5001] = f"1 odd 0 1 {'ä' * 3000} G"
    found = read_columns("\n".join(lines).encode(), "bim", ["allele_1", "allele_2"])
    assert found["allele_1"].dtype == np.dtypes.StringDType()
    assert found["allele_2"].dtype == "<U1"
    expected = ["A"] * 5000 + ["ACGT" * 500, "ä" * 3000] + ["A"] * 4998
    assert found["allele_1"].tolist() == expected


# Use /proc, because the peak memory of getrusage includes that of the parent process.
PEAK_MEMORY_SCRIPT = """
import sys
from pathlib import Path
from seqloom.io.plink._tables import FAM_BIM_COLUMNS, read_columns
found = read_columns(Path(sys.argv[1]), "bim", FAM_BIM_COLUMNS["bim"])
assert len(found["allele_1"][150_000]) == 2000
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


def test_one_long_allele_among_300_000_variants_takes_less_than_200_mb(tmp_path):
    with (tmp_path / "a.bim").open("w") as file:
        for row in range(300_000):
            allele = "A" * 2000 if row == 150_000 else "C"
            file.write(f"1\trs{10_000_000 + row}\t0\t{row * 700}\t{allele}\tG\n")
    command = [sys.executable, "-c", PEAK_MEMORY_SCRIPT, str(tmp_path / "a.bim")]
    peak = int(subprocess.run(command, check=True, capture_output=True).stdout) * 1024
    assert peak < 200e6


RANDOM_INTEGERS = st.integers(-(2**31), 2**31 - 1)


@st.composite
def tables(draw):
    """Generate the columns of a .bim."""
    rows = draw(st.integers(0, 5))

    def texts():
        return np.array(
            draw(st.lists(RANDOM_WORDS, min_size=rows, max_size=rows)), dtype=np.str_
        )

    floats = st.lists(st.floats(width=32, allow_nan=False), min_size=rows, max_size=rows)
    integers = draw(st.lists(RANDOM_INTEGERS, min_size=rows, max_size=rows))
    return {
        "chromosome": texts(),
        "sid": texts(),
        "cm_position": np.array(draw(floats), np.float32),
        "bp_position": np.array(integers, np.int32),
        "allele_1": texts(),
        "allele_2": texts().astype(np.dtypes.StringDType()),
    }


@given(columns=tables())
def test_written_fam_and_bim_tables_are_read_back_unchanged(tmp_path_factory, columns):
    path = tmp_path_factory.mktemp("table") / "a.bim"
    write_table(path, "bim", columns)
    found = read_columns(path, "bim", FAM_BIM_COLUMNS["bim"])
    assert count_lines(path, "bim") == len(columns["sid"])
    for name, values in columns.items():
        np.testing.assert_array_equal(found[name], values.astype(found[name].dtype))


def columns_of(suffix, centimorgans):
    """Generate columns of equal lengths."""
    rows = len(centimorgans)
    numbers = {
        "sex": np.arange(rows, dtype=np.int32) % 3,
        "bp_position": np.arange(rows, dtype=np.int32) - 7,
        "cm_position": np.array(centimorgans, np.float32),
    }
    return {
        name: numbers.get(name, np.array([f"{name}{row}" for row in range(rows)]))
        for name in FAM_BIM_COLUMNS[suffix]
    }


def write_by_bed_reader(folder, suffix, columns):
    """Write the same table with bed_reader."""
    rows = len(next(iter(columns.values())))
    shape = (rows, 1) if suffix == "fam" else (1, rows)
    bed_reader.to_bed(folder / "a.bed", np.zeros(shape, np.int8), columns)
    return folder / f"a.{suffix}"


CENTIMORGAN_VALUES = [0, 100.4, -1.25, 0.001, 123456.78, 2000.5]


@pytest.mark.parametrize("suffix", ["fam", "bim"])
def test_fam_and_bim_are_written_byte_for_byte_like_by_bed_reader(tmp_path, suffix):
    columns = columns_of(suffix, CENTIMORGAN_VALUES * 4_000)
    write_table(tmp_path / "ours", suffix, columns)
    theirs = write_by_bed_reader(tmp_path, suffix, columns)
    assert (tmp_path / "ours").read_bytes() == theirs.read_bytes()


def test_centimorgans_are_exchanged_exactly_with_bed_reader(tmp_path):
    expected = np.geomspace(1e-44, 3e38, 40_000).astype(np.float32)
    columns = columns_of("bim", expected)
    theirs = write_by_bed_reader(tmp_path, "bim", columns)
    by_us = read_columns(theirs, "bim", ["cm_position"])["cm_position"]
    write_table(theirs, "bim", columns)
    with bed_reader.open_bed(tmp_path / "a.bed") as bed:
        np.testing.assert_array_equal(bed.cm_position, expected)
    np.testing.assert_array_equal(by_us, expected)


@pytest.mark.parametrize("value", ["", "A B", "A\tB", "A\n", "\x00A"])
@pytest.mark.parametrize("dtype", [np.str_, np.dtypes.StringDType()])
def test_writing_a_fam_value_that_cannot_be_read_back_is_an_error(tmp_path, value, dtype):
    columns = read_columns(
        EXAMPLE_LINE_OF_TABLE["fam"] * 20_000, "fam", FAM_BIM_COLUMNS["fam"]
    )
    texts = columns["father"].astype(object)
    texts[17_000] = value
    columns["father"] = texts.astype(dtype)
    with pytest.raises(ArgumentError, match=r"father, row 17000: .*would not read back"):
        write_table(tmp_path / "a.fam", "fam", columns)


def test_a_fam_id_that_begins_with_a_byte_order_mark_is_an_error(tmp_path):
    columns = read_columns(EXAMPLE_LINE_OF_TABLE["fam"], "fam", FAM_BIM_COLUMNS["fam"])
    columns["fid"] = np.array(["\ufefff"])
    with pytest.raises(ArgumentError, match="fid, row 0"):
        write_table(tmp_path / "a.fam", "fam", columns)


def test_fam_columns_of_different_lengths_are_an_error(tmp_path):
    columns = read_columns(EXAMPLE_LINE_OF_TABLE["fam"] * 2, "fam", FAM_BIM_COLUMNS["fam"])
    columns["sex"] = columns["sex"][:1]
    with pytest.raises(ArgumentError, match="one length"):
        write_table(tmp_path / "a.fam", "fam", columns)
