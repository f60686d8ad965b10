"""The WebAssembly module in Node has the scores of Python, and rejects corrupt files."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from exported import append_operation
from web_page import (
    REPOSITORY,
    WASM_MODULE,
    ask,
    fasta,
    needs_module,
    needs_node,
    packed,
    records,
)

pytestmark = [needs_module, needs_node]

STORED_EXPORTS = REPOSITORY / "tests/export/data"
SEQUENCE_LENGTHS = (30, 24, 30, 17, 9)
NETWORK_NAMES = ("cnn", "lstm")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A stored export as a zip, and the records of its stored scores."""
    five = [
        (name, it[:length])
        for (name, it), length in zip(records(5), SEQUENCE_LENGTHS, strict=True)
    ]
    model = packed(STORED_EXPORTS / "version_1_cnn", tmp_path / "model.zip")
    return model, fasta(tmp_path / "five.fa", five)


@pytest.mark.parametrize("name", NETWORK_NAMES)
def test_webassembly_scores_equal_those_of_python(
    name: str, files: tuple[str, str], tmp_path: Path
):
    model = packed(STORED_EXPORTS / f"version_1_{name}", tmp_path / "other.zip")
    _, found = ask({"do": "open", "path": model}, {"do": "predict", "path": files[1]})
    wanted = np.array(json.loads((STORED_EXPORTS / f"version_1_{name}.json").read_text()))
    np.testing.assert_allclose(np.reshape(found["scores"], wanted.shape), wanted, atol=1e-6)


def test_a_gzip_file_in_small_chunks_has_the_same_scores(files, tmp_path: Path):
    model, plain = files
    small = tmp_path / "five.fa.gz"
    small.write_bytes(gzip.compress(Path(plain).read_bytes()))
    paths = ({"path": plain}, {"path": str(small)}, {"path": str(small), "most": 3})
    _, *found = ask(
        {"do": "open", "path": model}, *({"do": "predict"} | it for it in paths)
    )
    assert found[0] == found[1] == found[2]
    assert found[0]["records"] == len(SEQUENCE_LENGTHS)
    assert found[0]["warnings"] == []


def test_the_summary_contains_warnings_about_records(files, tmp_path: Path):
    path = fasta(tmp_path / "twice.fa", [("x", "ACGT"), ("x", "GGTA")])
    _, found = ask({"do": "open", "path": files[0]}, {"do": "predict", "path": path})
    (warning,) = found["warnings"]
    assert warning.startswith("2 sequences have the id 'x': a table of scores")


def test_printed_scores_are_the_shortest_exact_decimals(files):
    _, found = ask({"do": "open", "path": files[0]}, {"do": "predict", "path": files[1]})
    head, *lines = found["text"].splitlines()
    assert head == "id\tEI\tIE\tN"
    numbers = np.array([line.split("\t")[1:] for line in lines], np.float32)
    np.testing.assert_array_equal(numbers.ravel(), np.array(found["scores"], np.float32))


def test_an_importance_is_the_change_of_the_score_without_a_residue(files, tmp_path):
    name, letters = records(1)[0]
    covered = [letters[:at] + "N" + letters[at + 1 :] for at in range(len(letters))]
    path = fasta(tmp_path / "one.fa", [(name, letters)])
    all_paths = fasta(tmp_path / "all.fa", [("x", it) for it in [letters, *covered]])
    _, seen, scored = ask(
        {"do": "open", "path": files[0]},
        {"do": "look", "path": path, "record": 0},
        {"do": "predict", "path": all_paths},
    )
    scores = np.reshape(scored["scores"], (len(letters) + 1, 3))
    expected = (scores[0] - scores[1:]).ravel()
    np.testing.assert_allclose(seen["importances"], expected, atol=1e-6)
    assert (seen["id"], seen["letters"], seen["cover"]) == (name, letters, "N")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b">a\nACGT!\n", "expected one of ACGT"),
        (b"hello", "expected FASTA or FASTQ"),
        (b"BZh91AY&SY", "bzip2"),
        (b"", "the file is empty"),
    ],
)
def test_an_invalid_file_is_an_error_message(files, tmp_path, content, message):
    path = tmp_path / "odd.fa"
    path.write_bytes(content)
    _, found = ask({"do": "open", "path": files[0]}, {"do": "predict", "path": str(path)})
    assert message in found["error"]
    assert not found["is_trap"]


def test_a_truncated_or_changed_zip_is_an_error_message(files):
    size = Path(files[0]).stat().st_size
    cuts = [
        {"do": "spoil", "path": files[0], "cut": size * part // 60} for part in range(60)
    ]
    flips = [{"do": "spoil", "path": files[0], "flips": [at]} for at in range(0, size, 97)]
    answers = ask(*cuts, *flips)
    assert not [it for it in answers if it.get("is_trap")]
    # Only times and attributes of the zip entries are not covered by a hash.
    harmless = sum("error" not in it for it in answers)
    assert harmless < len(answers) / 4


@pytest.mark.parametrize(
    ("classes", "message"),
    [(10**9, "an array [1000000000] of int64 is larger than the"), (10**12, "shape")],
    ids=["more than the limit", "more than an index"],
)
def test_a_huge_number_of_classes_is_an_error_message(files, tmp_path, classes, message):
    copy = Path(shutil.copytree(STORED_EXPORTS / "version_1_cnn", tmp_path / "copy"))
    append_operation(copy, "astype", {"dtype": "int64"}, dtype="int64", shape=["batch", 3])
    append_operation(copy, "one_hot", classes, dtype="int64", shape=["batch", 3, classes])
    *found, _, last = ask(
        {"do": "open", "path": packed(copy, tmp_path / "copy.zip")},
        {"do": "predict", "path": files[1]},
        {"do": "open", "path": files[0]},
        {"do": "predict", "path": files[1]},
    )
    assert message in next(it["error"] for it in found if "error" in it)
    assert not any(it.get("is_trap") for it in found)
    assert last["records"] == len(SEQUENCE_LENGTHS)


def test_an_exported_triu_with_the_lowest_diagonal_does_not_change_the_scores(
    files, tmp_path
):
    copy = Path(shutil.copytree(STORED_EXPORTS / "version_1_cnn", tmp_path / "copy"))
    append_operation(copy, "triu", shape=["batch", 3], k=-(2**63))
    _, before, _, after = ask(
        {"do": "open", "path": files[0]},
        {"do": "predict", "path": files[1]},
        {"do": "open", "path": packed(copy, tmp_path / "copy.zip")},
        {"do": "predict", "path": files[1]},
    )
    assert before["scores"] == after["scores"]


def test_the_webassembly_module_works_after_an_error(files):
    bad, good, found = ask(
        {"do": "open", "path": [1, 2, 3]},
        {"do": "open", "path": files[0]},
        {"do": "predict", "path": files[1]},
    )
    assert "zip" in bad["error"]
    assert good["columns"] == ["EI", "IE", "N"]
    assert found["records"] == len(SEQUENCE_LENGTHS)


def test_the_compressed_module_is_smaller_than_700_kb():
    assert len(gzip.compress(WASM_MODULE.read_bytes(), 9)) < 700_000
