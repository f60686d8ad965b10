"""``seqloom convert`` of read pairs."""

import io
import re

import pytest
from rich.console import Console

from seqloom.cli import main
from seqloom.cli._convert import open_with_bar
from seqloom.errors import FileError
from seqloom.io import open_sequences


def reads(mate, lengths):
    """Return FASTQ reads r0, r1 and so on, with a quality equal to the length."""
    return "".join(
        f"@r{row}/{mate}\n{'A' * n}\n+\n{chr(33 + n) * n}\n"
        for row, n in enumerate(lengths)
    )


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    """Two files of four pairs with lengths (10, 30), (30, 10), (30, 30), (10, 10)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1.fq").write_text(reads(1, [10, 30, 30, 10]))
    (tmp_path / "2.fq").write_text(reads(2, [30, 10, 30, 10]))
    return tmp_path


def ids(first, *more, **options):
    """Return the ids of both reads of each pair."""
    with open_sequences((first, *more) if more else first, **options) as reader:
        return [(one.id, other.id) for one, other in reader]


IDS_OF_ALL_PAIRS = [(f"r{row}/1", f"r{row}/2") for row in range(4)]
CONVERT_ARGUMENTS = ("convert", "1.fq", "2.fq", "--out")


def test_convert_reads_and_writes_a_pair_of_fastq_files(pairs, call):
    said = call(*CONVERT_ARGUMENTS, "o1.fq.gz", "o2.fa")
    assert (said.code, said.out) == (0, "read      4 pairs\nwritten   4 pairs\n")
    assert ids("o1.fq.gz", "o2.fa") == IDS_OF_ALL_PAIRS


@pytest.mark.parametrize(
    ("options", "kept", "dropped"),
    [
        (["--min-length", 20], [2], "3 pairs too short"),
        (["--max-length", 20], [3], "3 pairs too long"),
        (["--min-mean-quality", 20], [2], "3 pairs of low quality"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
@pytest.mark.usefixtures("pairs")
def test_a_read_pair_is_kept_only_if_both_reads_pass_filters(call, options, kept, dropped):
    said = call(*CONVERT_ARGUMENTS, "o1.fq", "o2.fq", *options)
    assert f"written   1 pairs\ndropped   {dropped}\n" in said.out
    assert ids("o1.fq", "o2.fq") == [IDS_OF_ALL_PAIRS[row] for row in kept]


@pytest.mark.usefixtures("pairs")
def test_read_pairs_can_be_interleaved_and_separated(call):
    assert call(*CONVERT_ARGUMENTS, "both.fq", "--interleaved").code == 0
    assert ids("both.fq", interleaved=True) == IDS_OF_ALL_PAIRS
    assert call("convert", "both.fq", "--out", "o1.fq", "o2.fq", "--interleaved").code == 0
    assert ids("o1.fq", "o2.fq") == IDS_OF_ALL_PAIRS


@pytest.mark.usefixtures("pairs")
def test_filtering_an_interleaved_file_keeps_or_drops_whole_pairs(call):
    call(*CONVERT_ARGUMENTS, "both.fq", "--interleaved")
    call("convert", "both.fq", "o.fq", "--interleaved", "--min-length", 20)
    assert ids("o.fq", interleaved=True) == IDS_OF_ALL_PAIRS[2:3]


@pytest.mark.usefixtures("pairs")
def test_standard_input_can_be_one_file_of_a_pair(call, monkeypatch):
    text = io.TextIOWrapper(io.BytesIO(reads(1, [10, 30, 30, 10]).encode()))
    monkeypatch.setattr("sys.stdin", text)
    assert call("convert", "-", "2.fq", "--out", "o1.fq", "o2.fq").code == 0
    assert ids("o1.fq", "o2.fq") == IDS_OF_ALL_PAIRS


@pytest.mark.usefixtures("pairs")
def test_convert_writes_interleaved_pairs_to_standard_output(capfdbinary):
    with pytest.raises(SystemExit):
        main([*CONVERT_ARGUMENTS[:-1], "--out=-", "--interleaved", "--min-length", "20"])
    said = capfdbinary.readouterr()
    assert said.out.decode().startswith(f"@r2/1\n{'A' * 30}\n+\n{'?' * 30}\n@r2/2\n")
    assert said.err.decode().startswith("read      4 pairs\n")


INVALID_PAIRS = {
    "another order": (["1.fq", "odd.fq"], ["o1.fq", "o2.fq"], "pair 0: .*'r0/1' .*'x/2'"),
    "fewer mates": (["1.fq", "few.fq"], ["o1.fq", "o2.fq"], "few.fq: ends after 1 records"),
    "a cut file": (["1.fq", "cut.fq"], ["o1.fq", "o2.fq"], "cut.fq: record 0"),
    "one file twice": (
        ["1.fq", "./1.fq"],
        ["o1.fq", "o2.fq"],
        "same file; .*--interleaved",
    ),
    "one name twice": (["1.fq", "2.fq"], ["o1.fq", "o1.fq"], "the same file"),
    "three to write": (["1.fq", "2.fq"], ["a.fq", "b.fq", "c.fq"], "two, got 3"),
    "one to write": (["1.fq", "2.fq"], ["o.fq"], "2 to read and 1 to write.*--interleaved"),
    "one to read": (["1.fq"], ["a.fq", "b.fq"], "1 to read and 2 to write.*--interleaved"),
    "none to write": (["1.fq"], [], "no file to write: seqloom convert IN OUT"),
    "no second folder": (["1.fq", "2.fq"], ["a.fq", "no/b.fq"], "no/b.fq: cannot be writ"),
    "a file that is there": (["1.fq", "2.fq"], ["a.fq", "few.fq"], "few.fq: already exi"),
    "an unknown name": (["1.fq", "2.fq"], ["a.fq", "b.txt"], "b.txt: the name does not"),
}


@pytest.mark.parametrize(
    ("files", "out", "words"), INVALID_PAIRS.values(), ids=INVALID_PAIRS
)
def test_invalid_pairs_print_one_line_and_write_no_file(pairs, call, files, out, words):
    (pairs / "odd.fq").write_text(reads(2, [10] * 4).replace("r0", "x"))
    (pairs / "few.fq").write_text(reads(2, [10]))
    (pairs / "cut.fq").write_text(reads(2, [10])[:-9])
    before = sorted(pairs.iterdir())
    said = call("convert", *files, *(["--out", *out] if out else []))
    assert (said.code, said.out) == (2, "")
    assert len(said.err.splitlines()) == 1
    assert re.search(words, said.err)
    assert sorted(pairs.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--interleaved"], "two input files and two output files"),
        (["--on-error", "skip"], "would skip single reads of pairs"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
@pytest.mark.usefixtures("pairs")
def test_options_for_single_files_are_rejected_for_pairs(call, options, words):
    said = call(*CONVERT_ARGUMENTS, "o1.fq", "o2.fq", *options)
    assert (said.code, words in said.err) == (2, True)


@pytest.mark.usefixtures("pairs")
def test_existing_outputs_of_a_pair_are_replaced_only_with_overwrite(call):
    call(*CONVERT_ARGUMENTS, "o1.fq", "o2.fq", "--min-length", 20)
    assert call(*CONVERT_ARGUMENTS, "o1.fq", "o2.fq", "--overwrite").code == 0
    assert ids("o1.fq", "o2.fq") == IDS_OF_ALL_PAIRS


@pytest.mark.parametrize(
    "words",
    [
        (*CONVERT_ARGUMENTS, "o1.fq", "1.fq"),
        (*CONVERT_ARGUMENTS, "2.fq", "--interleaved"),
        ("convert", "1.fq", "1.fq", "--interleaved"),
        ("convert", "1.fq", "--out", "o1.fq", "1.fq", "--interleaved"),
    ],
    ids=" ".join,
)
def test_an_input_file_of_a_pair_cannot_be_an_output_file(pairs, call, words):
    before = [(pairs / name).read_bytes() for name in ("1.fq", "2.fq")]
    said = call(*words, "--overwrite")
    assert (said.code, "is both read and written" in said.err) == (2, True)
    assert [path.read_bytes() for path in sorted(pairs.iterdir())] == before


@pytest.mark.usefixtures("pairs")
def test_a_filter_that_drops_all_pairs_prints_a_warning_last(call):
    said = call(*CONVERT_ARGUMENTS, "o1.fq", "o2.fq", "--min-length", 99)
    assert said.code == 0
    assert said.out.splitlines()[-1].startswith("warning: no record was kept")


def watched(change=None):
    """Change one of two files while both are read; return the terminal output."""
    shown = io.StringIO()
    with open_with_bar(
        ("1.fq", "2.fq"), Console(file=shown, force_terminal=True)
    ) as reader:
        assert len(list(reader)) == 4
        if change is not None:
            change()
    return shown.getvalue()


def test_one_progress_bar_covers_both_files(pairs):
    total = sum((pairs / name).stat().st_size for name in ("1.fq", "2.fq"))
    assert f"/{total} bytes" in watched()


def test_a_mate_file_that_changes_during_conversion_is_an_error(pairs):
    with pytest.raises(FileError, match=r"2\.fq: changed while"):
        watched(lambda: (pairs / "2.fq").write_text(""))
