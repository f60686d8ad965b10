"""The output, the files and the exit codes of seqloom-run."""

import json
import signal
import subprocess
import time

import numpy as np
import pytest

import seqloom as sl
from seqloom import _demo
from seqloom.cli._export import PROGRAM

SIXTY_BASES = "ACGT" * 15


@pytest.fixture
def fasta(tmp_path):
    """Two records of 60 bases, like those of the demo."""
    path = tmp_path / "a.fa"
    path.write_text(f">x first\n{SIXTY_BASES}\n>y\n{SIXTY_BASES[::-1]}\n")
    return path


def lines_of(program, *words):
    """Return the output of a command that succeeded."""
    found = program(*words)
    assert found.returncode == 0, found.stderr
    return found.stdout.decode().splitlines()


def test_predict_is_the_default_command(program, exported, fasta):
    _, export = exported("splice")
    short = lines_of(program, export, fasta)
    assert short == lines_of(program, "predict", export, fasta)
    assert [line.split("\t")[0] for line in short] == ["id", "x", "y"]


def test_a_zip_has_the_same_scores_as_its_folder(program, exported, fasta, tmp_path):
    trained, export = exported("splice")
    sl.export.save(trained, tmp_path / "model.zip")
    assert lines_of(program, tmp_path / "model.zip", fasta) == lines_of(
        program, export, fasta
    )


def test_a_written_file_can_be_read_back(program, exported, fasta, tmp_path):
    trained, export = exported("splice")
    found = program("predict", export, fasta, "--out", tmp_path / "a.tsv")
    assert (found.stdout, found.returncode) == (b"", 0)
    assert found.stderr.decode() == f"scored 2 sequences: {tmp_path / 'a.tsv'}\n"
    scores = sl.infer.Scores.read_tsv(tmp_path / "a.tsv")
    assert np.array_equal(scores, sl.infer.predict(trained, fasta))


def test_a_csv_file_has_commas(program, exported, fasta, tmp_path):
    _, export = exported("splice")
    program("predict", export, fasta, "--out", tmp_path / "a.tsv")
    program("predict", export, fasta, "--out", tmp_path / "a.csv")
    tabs = (tmp_path / "a.tsv").read_text()
    assert (tmp_path / "a.csv").read_text() == tabs.replace("\t", ",")


def test_an_unsupported_extension_is_an_error(program, exported, fasta, tmp_path):
    _, export = exported("splice")
    found = program("predict", export, fasta, "--out", tmp_path / "a.xlsx")
    assert b"not as .xlsx; a spreadsheet program opens .csv" in found.stderr
    assert found.returncode != 0


def test_json_lines_have_the_numbers_of_the_table(program, exported, fasta):
    _, export = exported("splice")
    head, *rows = lines_of(program, export, fasta)
    found = lines_of(program, "predict", export, fasta, "--format", "jsonl")
    names = head.split("\t")
    for row, line in zip(rows, found, strict=True):
        values = list(json.loads(line).items())
        assert [name for name, _ in values] == names
        assert [str(it) for _, it in values] == row.split("\t")


def test_npz_files_have_ids_columns_and_scores(program, exported, tmp_path):
    trained, export = exported("splice")
    path = _demo.example_path("test.fa.gz")
    lines_of(program, "predict", export, path, "--out", tmp_path / "a.npz")
    scores = sl.infer.predict(trained, path)
    with np.load(tmp_path / "a.npz") as found:
        assert found["ids"].tolist() == scores.ids
        assert tuple(found["columns"].tolist()) == scores.classes
        assert np.array_equal(found["scores"], scores)


def test_npz_files_of_many_records_are_complete(program, exported, tmp_path):
    _, export = exported("lstm")
    rows = [f">r{row}\n{'ACGT' * (1 + row % 5)}\n" for row in range(20_000)]
    (tmp_path / "a.fa").write_text("".join(rows))
    table = lines_of(program, export, tmp_path / "a.fa")[1:]
    out = tmp_path / "a.npz"
    words = ("--out", out, "--memory", "2M")
    lines_of(program, "predict", export, tmp_path / "a.fa", *words)
    with np.load(out) as found:
        for line, name, row in zip(table, found["ids"], found["scores"], strict=True):
            assert line == "\t".join([str(name), *map(str, row)])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--out", "a.fa"],
            "a.fa: is one of the files to read; --out must be another file",
        ),
        (["--out", "old.tsv"], "old.tsv: already exists; --overwrite replaces it"),
        (["--out", "none/b.tsv"], "none/b.tsv: there is no folder none; create it first"),
        (
            ["--out", "/dev/full"],
            "/dev/full: cannot be written to; --out needs a file name",
        ),
        (["--format", "npz"], "npz needs a file"),
        (["--format", "xml"], "--format must be tsv, csv, jsonl or npz"),
        (["--threads", "0"], '--threads must be an integer from 1 to 256, got "0"'),
        (["--memory", "lots"], "--memory must be a number of bytes such as 512M or 4G"),
        (["--none"], "unknown option --none; a file of that name is ./--none"),
        (
            ["--interleaved"],
            "--interleaved is for pairs, but the model reads single records",
        ),
        (["-"], "-: standard input must be the only input"),
    ],
)
def test_seqloom_run_reports_an_invalid_argument_at_the_start(
    program, exported, fasta, tmp_path, words, said
):
    _, export = exported("splice")
    (tmp_path / "old.tsv").write_text("old")
    found = program("predict", export, "a.fa", *words, cwd=tmp_path)
    assert (found.returncode, found.stdout) == (2, b"")
    assert f"error: {said}" in found.stderr.decode()
    assert (tmp_path / "old.tsv").read_text() == "old"
    assert fasta.read_text().startswith(">x first")


def test_the_option_overwrite_replaces_an_existing_table(
    program, exported, fasta, tmp_path
):
    _, export = exported("splice")
    (tmp_path / "old.tsv").write_text("old")
    words = ("--out", tmp_path / "old.tsv", "--overwrite", "--quiet")
    assert program("predict", export, fasta, *words).stderr == b""
    assert (tmp_path / "old.tsv").read_text().startswith("id\t")
    assert sorted(it.name for it in tmp_path.iterdir()) == ["a.fa", "old.tsv"]


def test_an_error_during_the_scoring_keeps_the_old_table(program, exported, tmp_path):
    _, export = exported("lstm")
    (tmp_path / "old.tsv").write_text("old")
    rows = [f">r{row}\nACGT\n" for row in range(20_000)]
    (tmp_path / "a.fa").write_text("".join([*rows, ">bad\nAC!T\n"]))
    words = ("--out", "old.tsv", "--overwrite", "--memory", "2M")
    found = program("predict", export, "a.fa", *words, cwd=tmp_path)
    assert found.returncode == 2
    assert "a.fa: record 20000 (bad), line 40002, byte" in found.stderr.decode()
    assert (tmp_path / "old.tsv").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_closed_pipe_at_the_output_is_not_an_error(program, exported, tmp_path):
    _, export = exported("lstm")
    rows = [f">r{row}\n{'ACGT' * 9}\n" for row in range(20_000)]
    (tmp_path / "a.fa").write_text("".join(rows))
    words = [PROGRAM, export, tmp_path / "a.fa", "--quiet", "--memory", "2M"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b"id\t")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_scoring_and_leaves_no_temporary_file(number, exported, tmp_path):
    _, export = exported("splice")
    (tmp_path / "out").mkdir()
    words = [PROGRAM, "predict", export, "-", "--out", tmp_path / "out" / "a.tsv"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stderr=pipe) as process:
        process.stdin.write(f">x\n{SIXTY_BASES}\n".encode())
        process.stdin.flush()
        while not list((tmp_path / "out").iterdir()):
            time.sleep(0.01)
        process.send_signal(number)
        assert process.stderr.read() == b"\nstopped\n"
    assert process.returncode == 128 + number
    assert not list((tmp_path / "out").iterdir())


def test_a_signal_ends_the_writing_of_an_npz_with_long_ids(exported, tmp_path):
    _, export = exported("splice")
    # In an array of ids, each id has the width of the longest id, in total 1.6 GB.
    rows = [f">r{row}\n{SIXTY_BASES}\n" for row in range(4_000)]
    (tmp_path / "a.fa").write_text("".join([f">{'a' * 100_000}\n{SIXTY_BASES}\n", *rows]))
    (tmp_path / "out").mkdir()
    words = [PROGRAM, "predict", export, tmp_path / "a.fa", "--quiet"]
    with subprocess.Popen([*words, "--out", tmp_path / "out" / "a.npz"]) as process:
        while sum(part.stat().st_size for part in (tmp_path / "out").iterdir()) < 1e7:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 128 + signal.SIGTERM
    assert not list((tmp_path / "out").iterdir())


def test_inspect_prints_the_inputs_and_outputs_of_the_model(program, exported):
    _, export = exported("splice")
    lines = dict(line.split(maxsplit=1) for line in lines_of(program, "inspect", export))
    assert lines["task"] == "classify: EI, IE, N"
    assert lines["reads"] == "one_hot of dna, 60 positions"
    assert lines["inputs"] == "inputs float32 (batch, 4, 60)"


def test_bench_prints_the_time_of_a_batch(program, exported, fasta):
    _, export = exported("splice")
    text = "\n".join(lines_of(program, "bench", export, fasta))
    assert "2 sequences in" in text
    assert "a batch" in text


def test_the_command_seqloom_run_executes_the_native_program(program, exported, fasta):
    _, export = exported("splice")
    words = ["seqloom", "run", str(export), str(fasta)]
    found = subprocess.run(words, capture_output=True, check=True)
    assert found.stdout == program(export, fasta).stdout
