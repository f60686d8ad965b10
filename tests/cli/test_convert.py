import gzip
import io
import subprocess
import sys

import pytest
from rich.console import Console

from seqloom.cli._convert import open_with_bar
from seqloom.errors import FileError
from seqloom.io import inspect, open_sequences

FASTQ_TEXT = "".join(f"@r{n} x\n{'A' * n}\n+\n{chr(33 + n) * n}\n" for n in range(1, 41))


@pytest.fixture
def reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reads.fq").write_text(FASTQ_TEXT)
    return tmp_path


@pytest.mark.parametrize("name", ["b.fq", "b.fq.gz", "b.fq.bgz"])
def test_converting_the_compression_of_a_file_does_not_change_its_text(reads, call, name):
    said = call("convert", "reads.fq", name)
    content = (reads / name).read_bytes()
    text = content if name == "b.fq" else gzip.decompress(content)
    assert (said.code, text.decode()) == (0, FASTQ_TEXT)
    assert said.out == "read      40\nwritten   40\n"


def test_fastq_converts_to_fasta(reads, call):
    call("convert", "reads.fq", "b.fa", "--line-width", 30)
    assert (reads / "b.fa").read_text().endswith(f">r40 x\n{'A' * 30}\n{'A' * 10}\n")


def test_convert_counts_dropped_records_by_reason(reads, call):
    said = call(
        *("convert", "reads.fq", "b.fq", "--min-length", 10, "--max-length", 35),
        *("--min-mean-quality", 20),
    )
    assert said.out.split("\n")[2:5] == [
        "dropped   9 too short",
        "dropped   5 too long",
        "dropped   10 of low quality",
    ]
    assert inspect("b.fq").records == 16
    assert (inspect("b.fq").shortest, inspect("b.fq").longest) == (20, 35)


def test_the_quality_encoding_determines_the_mean_quality(reads, call):
    (reads / "old.fq").write_text("@a\nAC\n+\nhh\n@b\nAC\n+\nBB\n")
    call("convert", "old.fq", "b.fq", "--quality", "phred64", "--min-mean-quality", 30)
    with open_sequences("b.fq") as reader:
        assert [(record.id, record.quality) for record in reader] == [("a", b"hh")]


def test_standard_output_of_convert_contains_only_records(reads):
    command = [sys.executable, "-m", "seqloom", "convert", "-", "-", "--min-length", "40"]
    done = subprocess.run(
        command, input=FASTQ_TEXT.encode(), capture_output=True, check=True
    )
    assert done.stdout.decode() == f"@r40 x\n{'A' * 40}\n+\n{'I' * 40}\n"
    assert done.stderr.decode().startswith("read      40\nwritten   1\n")


def test_convert_with_on_error_skip_counts_invalid_records(reads, call):
    (reads / "odd.fa").write_text(">a\nAC GT\n>b\nGG\n")
    said = call("convert", "odd.fa", "b.fa", "--on-error", "skip")
    assert said.out.split("\n")[1:3] == [
        "written   1",
        "skipped   1 with an error (letter)",
    ]
    call("convert", "odd.fa", "c.fa", "--whitespace", "strip")
    assert (reads / "c.fa").read_text() == ">a\nACGT\n>b\nGG\n"


def test_convert_stops_without_error_if_its_output_pipe_is_closed(reads):
    (reads / "many.fa").write_text(">a\nACGT\n" * 200_000)
    command = [sys.executable, "-m", "seqloom", "convert", "many.fa", "-"]
    with subprocess.Popen(command, stdout=-1, stderr=-1) as process:
        assert process.stdout.readline() == b">a\n"
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--min-length", 9, "--max-length", 5], "9 is more than --max-length 5"),
        (["--min-mean-quality", "nan"], "must be a number, got nan"),
    ],
)
def test_contradictory_filters_are_an_error(reads, call, options, words):
    said = call("convert", "reads.fq", "b.fq", *options)
    assert (said.code, words in said.err) == (2, True)
    assert not (reads / "b.fq").exists()


def test_converting_into_a_missing_folder_is_an_error(reads, call):
    said = call("convert", "reads.fq", "none/b.fq")
    assert (said.code, reads.exists()) == (2, True)
    assert said.err == "error: none/b.fq: cannot be written: No such file or directory\n"


def test_an_existing_output_is_replaced_only_with_overwrite(reads, call):
    (reads / "mates.fq").write_text("@a\nAC\n+\nII\n")
    said = call("convert", "reads.fq", "mates.fq")
    assert (said.code, "--overwrite" in said.err) == (2, True)
    assert (reads / "mates.fq").read_text() == "@a\nAC\n+\nII\n"
    assert call("convert", "reads.fq", "mates.fq", "--overwrite").code == 0
    assert (reads / "mates.fq").read_bytes() == (reads / "reads.fq").read_bytes()


def test_an_existing_fastq_output_suggests_the_options_for_read_pairs(reads, call):
    (reads / "mates.fq").write_text(FASTQ_TEXT)
    said = call("convert", "reads.fq", "mates.fq")
    assert (said.code, len(said.err.splitlines())) == (2, 1)
    assert "for a read pair: seqloom convert R1 R2 --out OUT1 OUT2" in said.err


def test_an_existing_text_file_as_output_does_not_suggest_read_pairs(reads, call):
    (reads / "notes.fa").write_text("Dear reader,\n")
    said = call("convert", "reads.fq", "notes.fa")
    assert said.err == "error: notes.fa: already exists; --overwrite replaces it\n"


@pytest.mark.parametrize("kind", ["path", "symlink", "hard link"])
def test_a_file_is_never_converted_onto_itself(reads, call, kind):
    if kind == "symlink":
        (reads / "b.fq").symlink_to("reads.fq")
    elif kind == "hard link":
        (reads / "b.fq").hardlink_to(reads / "reads.fq")
    target = "./reads.fq" if kind == "path" else "b.fq"
    said = call("convert", "reads.fq", target, "--overwrite", "--min-length", 9)
    assert (said.code, "is both read and written" in said.err) == (2, True)
    assert (reads / "reads.fq").read_text() == FASTQ_TEXT


def test_a_conversion_that_keeps_no_record_prints_a_warning_last(reads, call):
    said = call("convert", "reads.fq", "b.fq", "--min-length", 99)
    assert (said.code, (reads / "b.fq").read_bytes()) == (0, b"")
    assert said.out.splitlines()[-1].startswith("warning: no record was kept")


def watched(change=None):
    """Change a file while it is read with a progress bar; return the terminal output."""
    shown = io.StringIO()
    with open_with_bar("reads.fq", Console(file=shown, force_terminal=True)) as reader:
        assert len(list(reader)) == 40
        if change is not None:
            change()
    return shown.getvalue()


@pytest.mark.usefixtures("reads")
def test_convert_shows_a_progress_bar_in_a_terminal():
    assert "kB" in watched()


def test_a_file_that_changes_during_conversion_is_an_error(reads):
    with pytest.raises(FileError, match=r"reads\.fq: changed while"):
        watched(lambda: (reads / "reads.fq").write_text(FASTQ_TEXT * 2))
