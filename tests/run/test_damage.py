"""Exports and files that are damaged: an error that names them, and exit code 2."""

import json
import shutil

import numpy as np
import pytest

SIXTY = "ACGT" * 15


@pytest.fixture
def copied(exported, tmp_path):
    """A copy of an export, to be damaged, and a file that it reads."""
    _, export = exported("splice")
    shutil.copytree(export, tmp_path / "model")
    (tmp_path / "a.fa").write_text(f">x\n{SIXTY}\n")
    return tmp_path / "model"


def fault(program, model, *files):
    """What a command said that met an error."""
    found = program(model.name, *(files or ("a.fa",)), cwd=model.parent)
    assert (found.returncode, found.stdout) == (2, b"")
    assert found.stderr.startswith(b"error: ")
    return found.stderr.decode()


def test_an_export_that_is_not_there_is_named(program, copied):
    assert "none" in fault(program, copied.parent / "none")


@pytest.mark.parametrize(
    "name", ["export.json", "graph.json", "model.safetensors", "encoder.json"]
)
def test_a_file_that_is_missing_or_changed_is_named(program, copied, name):
    content = (copied / name).read_bytes()
    middle = len(content) // 2
    changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    (copied / name).write_bytes(changed)
    assert name in fault(program, copied)
    (copied / name).write_bytes(content[:middle])
    assert name in fault(program, copied)
    (copied / name).unlink()
    assert name in fault(program, copied)


def test_a_newer_version_is_refused_by_name(program, copied):
    path = copied / "export.json"
    facts = json.loads(path.read_text()) | {"version": 99}
    path.write_text(json.dumps(facts))
    assert "version 99" in fault(program, copied)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"hello", "expected"),
        (b">x\n\n", "record 0 (x): the sequence has no letters"),
        (f">x\n{SIXTY[:-1]}!\n".encode(), "record 0 (x), line 2, byte 62: expected"),
        (b">x\nACGT\n", "this model reads sequences of 60 letters, but 'x' has 4"),
        (b"\x1f\x8b\x08\x00damaged", "gzip"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(program, copied, content, said):
    (copied.parent / "a.fa").write_bytes(content)
    assert said in fault(program, copied)


def test_a_model_of_sequences_reads_no_genotypes(program, copied):
    (copied.parent / "a.bed").write_bytes(b"\x6c\x1b\x01\x00")
    assert "a.bed" in fault(program, copied, "a.bed")


def test_a_model_of_genotypes_names_what_is_missing(program, exported, tmp_path):
    _, export = exported("genotypes")
    np.savetxt(tmp_path / "a.fam", [["1", "s1", "0", "0", "0", "0"]], fmt="%s")
    (tmp_path / "a.bim").write_text("1 other 0 1 A G\n")
    (tmp_path / "a.bed").write_bytes(b"\x6c\x1b\x01\x00")
    found = program(export, "a.bed", cwd=tmp_path)
    assert found.returncode == 2
    assert "a.bed: expected the " in found.stderr.decode()
    assert "they are looked for by their ids in the .bim" in found.stderr.decode()
    (tmp_path / "a.bim").unlink()
    found = program(export, "a.bed", cwd=tmp_path)
    assert found.stderr.decode() == "error: a.bim: no such file\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b">x\nAC GT\n", "--whitespace strip leaves blanks out"),
        (b"; old\n>x\nACGT\n", "--comments skip leaves them out"),
        (b">\nACGT\n", "--ids number takes its number as the id"),
    ],
)
def test_an_odd_file_is_told_the_option_that_helps(
    program, exported, tmp_path, content, said
):
    _, export = exported("lstm")
    (tmp_path / "a.fa").write_bytes(content)
    found = program(export, tmp_path / "a.fa")
    assert (found.returncode, said in found.stderr.decode()) == (2, True)
    option = said.split(maxsplit=2)[:2]
    assert program("predict", export, tmp_path / "a.fa", *option).returncode == 0
