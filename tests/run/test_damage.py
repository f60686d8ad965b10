"""Corrupt exports and files are errors that name the file, with exit code 2."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from exported import append_operation
from seqloom.export._content import write_manifest

SIXTY_BASES = "ACGT" * 15


@pytest.fixture
def copied(exported, tmp_path):
    """A copy of an export to be corrupted, and an input file for it."""
    _, export = exported("splice")
    shutil.copytree(export, tmp_path / "model")
    (tmp_path / "a.fa").write_text(f">x\n{SIXTY_BASES}\n")
    return tmp_path / "model"


def fault(program, model, *files):
    """Return the message of a command that failed."""
    found = program(model.name, *(files or ("a.fa",)), cwd=model.parent)
    assert (found.returncode, found.stdout) == (2, b"")
    assert found.stderr.startswith(b"error: ")
    return found.stderr.decode()


def test_the_error_names_a_missing_export(program, copied):
    assert "none" in fault(program, copied.parent / "none")


@pytest.mark.parametrize(
    "name", ["export.json", "graph.json", "model.safetensors", "encoder.json"]
)
def test_the_error_names_a_missing_or_changed_file(program, copied, name):
    content = (copied / name).read_bytes()
    middle = len(content) // 2
    changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    (copied / name).write_bytes(changed)
    assert name in fault(program, copied)
    (copied / name).write_bytes(content[:middle])
    assert name in fault(program, copied)
    (copied / name).unlink()
    assert name in fault(program, copied)


@pytest.mark.parametrize("size", [0, 70_000, 2**63])
def test_a_batch_size_out_of_range_is_an_error(program, copied, size):
    path = copied / "export.json"
    facts = json.loads(path.read_text())
    text = path.read_text().replace(facts["checksum"], "0" * 64)
    text = text.replace(f'"batch_size": {facts["batch_size"]}', f'"batch_size": {size}')
    checksum = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(text.replace("0" * 64, checksum))
    assert "batch_size" in fault(program, copied)


def test_the_error_names_a_file_that_is_not_an_export(program, copied):
    other = copied.parent / "reads.fq"
    other.write_text("@x\nACGT\n+\nIIII\n")
    said = fault(program, other)
    assert "reads.fq" in said
    assert "expected an exported model, a folder or a zip" in said


@pytest.mark.parametrize("name", ["export.json", "graph.json", "encoder.json"])
def test_a_pipe_in_place_of_a_file_is_an_error_at_once(program, copied, name):
    (copied / name).unlink()
    os.mkfifo(copied / name)
    assert f"{name}: expected a regular file" in fault(program, copied)


def test_seqloom_run_works_if_standard_output_is_closed(exported, tmp_path):
    _, export = exported("splice")
    (tmp_path / "a.fa").write_text(f">x\n{SIXTY_BASES}\n")
    line = f"'{sys.executable}' -m seqloom run '{export}' a.fa --out scores.tsv >&-"
    subprocess.run(line, shell=True, cwd=tmp_path, check=True)  # noqa: S602 - a fixed command
    assert (tmp_path / "scores.tsv").read_text().startswith("id\t")


def test_a_newer_version_of_an_export_is_an_error(program, copied):
    path = copied / "export.json"
    facts = json.loads(path.read_text()) | {"version": 99}
    path.write_text(json.dumps(facts))
    assert "version 99" in fault(program, copied)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"hello", "expected"),
        (b">x\n\n", "record 0 (x): the sequence has no residues"),
        (
            f">x\n{SIXTY_BASES[:-1]}!\n".encode(),
            "record 0 (x), line 2, byte 62 of the text: found '!', expected",
        ),
        (b">x\nACGT\n", "this model reads sequences of 60 residues, but 'x' has 4"),
        (b"\x1f\x8b\x08\x00damaged", "gzip"),
    ],
)
def test_an_unreadable_input_file_is_an_error(program, copied, content, said):
    (copied.parent / "a.fa").write_bytes(content)
    assert said in fault(program, copied)


def test_a_huge_number_of_classes_is_an_error_without_allocation(program, copied):
    append_operation(
        copied, "astype", {"dtype": "int64"}, dtype="int64", shape=["batch", 3]
    )
    append_operation(copied, "one_hot", 10**12, dtype="int64", shape=["batch", 3, 10**12])
    message = fault(program, copied)
    assert "one_hot: an array [1000000000000] of int64 is larger than the" in message
    assert "(--memory)" in message


def test_an_exported_triu_with_the_lowest_diagonal_does_not_change_the_scores(
    program, copied
):
    before = program(copied.name, "a.fa", cwd=copied.parent)
    append_operation(copied, "triu", shape=["batch", 3], k=-(2**63))
    after = program(copied.name, "a.fa", cwd=copied.parent)
    assert (after.returncode, after.stdout) == (0, before.stdout)


def test_a_sequence_model_with_genotypes_is_an_error(program, copied):
    (copied.parent / "a.bed").write_bytes(b"\x6c\x1b\x01\x00")
    assert "a.bed" in fault(program, copied, "a.bed")


def test_the_error_of_a_genotype_model_names_missing_variants(program, exported, tmp_path):
    _, export = exported("genotypes")
    np.savetxt(tmp_path / "a.fam", [["1", "s1", "0", "0", "0", "0"]], fmt="%s")
    (tmp_path / "a.bim").write_text("1 other 0 1 A G\n")
    (tmp_path / "a.bed").write_bytes(b"\x6c\x1b\x01\x00")
    found = program(export, "a.bed", cwd=tmp_path)
    assert found.returncode == 2
    assert "a.bed: expected the " in found.stderr.decode()
    assert "variants are matched by their ids in the .bim" in found.stderr.decode()
    (tmp_path / "a.bim").unlink()
    found = program(export, "a.bed", cwd=tmp_path)
    assert found.stderr.decode() == "error: a.bim: no such file\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b">x\nAC GT\n", "--whitespace strip removes blanks"),
        (b"; old\n>x\nACGT\n", "--comments skip skips them"),
        (b">\nACGT\n", "--ids number uses the record number as the id"),
    ],
)
def test_the_error_about_an_odd_file_names_the_option_that_helps(
    program, exported, tmp_path, content, said
):
    _, export = exported("lstm")
    (tmp_path / "a.fa").write_bytes(content)
    found = program(export, tmp_path / "a.fa")
    assert (found.returncode, said in found.stderr.decode()) == (2, True)
    option = said.split(maxsplit=2)[:2]
    assert program("predict", export, tmp_path / "a.fa", *option).returncode == 0


def test_a_batch_larger_than_the_limit_is_an_error(program, exported, tmp_path):
    _, export = exported("lstm")
    model = Path(shutil.copytree(export, tmp_path / "model"))
    (tmp_path / "a.fa").write_text(f">x\n{SIXTY_BASES}\n")
    graph = json.loads((model / "graph.json").read_text())
    graph["inputs"].reverse()  # makes the mask the first input
    (model / "graph.json").write_text(json.dumps(graph))
    facts = json.loads((model / "export.json").read_text())
    files = {name: (model / name).read_bytes() for name in facts.pop("files")}
    facts |= {"length": 10**12, "crop": "pad"}
    own = {"checksum", "format", "version", "written_by"}
    facts = {name: it for name, it in facts.items() if name not in own}
    (model / "export.json").write_bytes(write_manifest(facts, files))
    found = program("predict", model, tmp_path / "a.fa", "--memory", "64M")
    assert found.returncode == 2
    assert "larger than the 64000000 bytes that may be used" in found.stderr.decode()
