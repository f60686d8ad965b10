"""Tests of `embed`: order and names of input files, final stops, progress and messages."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embed_job
import seqloom as sl
from seqloom.errors import (
    ArgumentError,
    ConfigError,
    FileError,
    FormatError,
    MissingFileError,
    OutOfRangeError,
    RunFolderError,
    ShapeError,
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(path, *records):
    """Write a file and create its folder."""
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text("".join(f">{name}\n{letters}\n" for name, letters in records))


def test_continuing_embed_with_files_in_another_order_is_an_error():
    write("one.fa", ("a1", "MK"), ("b1", "MKT"))
    write("two.fa", ("a2", "MKTA"), ("b2", "M"))
    embed_job.run(["one.fa", "two.fa"], "e", 1)
    with pytest.raises(ConfigError, match=r"name of file 1: 'one\.fa' in plan\.json"):
        embed_job.run(["two.fa", "one.fa"], "e", 1)


def test_embed_detects_a_change_in_one_of_two_files_of_equal_name():
    write("a/x.fa", ("a", "MK"))
    write("b/x.fa", ("b", "MKT"))
    embed_job.run(["a/x.fa", "b/x.fa"], "e")
    write("a/x.fa", ("a", "MKTAY"))
    with pytest.raises(ConfigError, match=r"size of x\.fa"):
        embed_job.run(["a/x.fa", "b/x.fa"], "e")


@pytest.mark.parametrize("kind", ["safetensors", "parquet"])
@pytest.mark.parametrize("pool", ["mean", "none"])
def test_embeddings_have_no_row_for_a_final_stop_symbol(pool, kind):
    records = [("x", "MKTA*"), ("y", "MK"), ("z", "MALWMRLLPLL*")]
    write("a.fa", *records)
    embed_job.run("a.fa", "e", pool=pool, format=kind)
    found = sl.infer.load("e")
    assert found.lengths.tolist() == [4, 2, 11]
    for name, letters in records:
        rows = embed_job.EMBEDDING_TABLE[sl.encode.Tokens("esm2")(letters.strip("*"))[1:-1]]
        expected = rows if pool == "none" else embed_job.expected_mean(letters.strip("*"))
        np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-6)


def test_embedding_windows_of_a_record_with_a_final_stop_are_joined():
    letters = "MKTAYIAKQRQISFVKSHFSRQ"
    write("a.fa", ("x", letters + "*"))
    embed_job.run("a.fa", "e", pool="none", max_length=7, overlap=3)
    expected = embed_job.EMBEDDING_TABLE[sl.encode.Tokens("esm2")(letters)[1:-1]]
    np.testing.assert_array_equal(sl.infer.load("e")["x"], expected)


def test_the_error_for_a_record_that_is_only_a_stop_symbol_names_it():
    write("a.fa", ("x", "MK"), ("stop", "*"))
    with pytest.raises(FormatError, match=r"record 1 \(stop\): no residues"):
        embed_job.run("a.fa", "e")


def test_a_file_that_changes_while_it_is_embedded_is_an_error():
    write("a.fa", *((f"s{n}", "MKTAYIAKQR") for n in range(100)))

    def change(progress):
        if progress.sequences >= 30:
            # Rename a complete file, so that the reader thread never reads a partial
            # file.
            write("b.fa", *((f"other{n}", "MKTAYIAKQR") for n in range(110)))
            Path("b.fa").replace("a.fa")

    with pytest.raises(FileError, match="has changed since the job was planned"):
        embed_job.run("a.fa", "e", 10, max_tokens=64, progress=change)
    assert not Path("e/complete.json").exists()
    finished = sl.infer.load("e", partial=True)
    assert [name for name in finished.ids if name.startswith("other")] == []


def test_repeating_an_embed_call_detects_a_truncated_shard():
    write("a.fa", ("x", "MK"), ("y", "MKT"))
    embed_job.run("a.fa", "e", 1)
    with Path("e/shard-000001.safetensors").open("r+b") as file:
        file.truncate(100)
    with pytest.raises(FileError, match=r"shard-000001\.safetensors: has 100 bytes"):
        embed_job.run("a.fa", "e", 1)


def test_embedding_into_the_folder_of_the_model_is_an_error():
    write("a.fa", ("x", "MK"))
    model = sl.models.ESM2Config(layers=1, width=16, heads=4).init("numpy")
    model.save("small")
    with pytest.raises(RunFolderError, match=r"small: contains config\.json, but no plan"):
        sl.infer.embed(model, "a.fa", out="small")


def test_the_error_for_a_corrupt_embedding_plan_names_its_file():
    write("a.fa", ("x", "MK"))
    embed_job.run("a.fa", "e")
    path = Path("e/plan.json")
    path.write_bytes(path.read_bytes()[:30] + b"\xff" + path.read_bytes()[31:])
    with pytest.raises(FormatError, match=r"plan\.json: cannot be read"):
        sl.infer.load("e")


@pytest.mark.parametrize(
    "change",
    [
        {"shards": [[0, 0, "1"]]},
        {"shards": [[1, 0, 1]]},
        {"shards": [[0, 1, 1]]},
        {"sources": [{"path": "a.fa", "size": -1.5, "modified": 0}]},
        {"rules": {"layers": [1]}},
    ],
    ids=repr,
)
def test_a_plan_of_an_embedding_job_with_invalid_values_is_an_error(change):
    write("a.fa", ("x", "MK"))
    embed_job.run("a.fa", "e")
    path = Path("e/plan.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(FormatError, match=r"plan\.json: cannot be read"):
        sl.infer.load("e")


@pytest.mark.parametrize(
    "change",
    [
        {"file": 7},
        {"file": "../a.fa"},
        {"first": 5},
        {"last": 1 << 60},
        {"bytes": "\ud800"},
    ],
    ids=repr,
)
def test_an_invalid_marker_file_of_a_finished_shard_is_an_error(change):
    write("a.fa", ("x", "MK"))
    embed_job.run("a.fa", "e")
    path = Path("e/shard-000000.done")
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(FormatError, match=r"shard-000000\.done: cannot be read"):
        sl.infer.load("e")


def test_an_embedding_shard_that_lacks_a_planned_array_is_an_error():
    write("a.fa", ("x", "MK"))
    embed_job.run("a.fa", "e")
    path = Path("e/plan.json")
    plan = json.loads(path.read_text())
    plan["rules"]["layers"] = [1, 2]
    path.write_text(json.dumps(plan))
    with pytest.raises(FormatError, match=r"has no embeddings\.1, which plan\.json lists"):
        sl.infer.load("e").to_numpy(layer=1)


def test_embeddings_can_be_looked_up_by_id_or_ordinal():
    write("a.fa", ("x", "MK"))
    embed_job.run("a.fa", "e")
    found = sl.infer.load("e")
    assert ["x" in found, "y" in found, 0 in found, 1 in found] == [
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("wrong", [None, (1, 2)])
def test_embedding_by_a_model_that_returns_no_array_is_an_error(wrong):
    write("a.fa", ("x", "MK"))
    with pytest.raises(ShapeError, match=f"returned {type(wrong).__name__}"):
        sl.infer.embed(lambda _: wrong, "a.fa", out="e")


def test_embedding_progress_includes_records_of_finished_shards():
    write("a.fa", *((f"s{n}", "MKTAYIAKQR" * 3) for n in range(400)))
    told, threads = [], set()

    def watch(progress):
        told.append((progress.done, progress.sequences))
        threads.add(threading.get_ident())

    embed_job.run("a.fa", "e", 20, max_tokens=64, progress=watch)
    assert threads == {threading.get_ident()}
    assert told[-1] == (400, 400)
    # At most the batches in both queues are computed but not yet written.
    assert max(sequences - done for done, sequences in told) < 200
    assert len({done for done, _ in told}) > 5


@pytest.mark.parametrize("wrong", [None, True, 1.5])
def test_an_embedding_key_that_is_not_an_id_or_integer_is_an_error(wrong: Any):
    write("a.fa", ("x", "MK"))
    embed_job.run("a.fa", "e")
    with pytest.raises(ArgumentError, match="record must be an integer"):
        sl.infer.load("e")[wrong]


def test_the_error_for_an_unfinished_shard_names_the_ordinal():
    write("a.fa", *((f"s{n}", "MK") for n in range(4)))
    embed_job.run("a.fa", "e", 2)
    Path("e/shard-000000.done").unlink()
    found = sl.infer.load("e", partial=True)
    assert found[3].shape == (embed_job.EMBEDDING_WIDTH,)
    with pytest.raises(OutOfRangeError, match="shard of the ordinal 1 is not finished"):
        found[1]
    for ordinal in (4, -1):
        with pytest.raises(OutOfRangeError, match="from 0 to 3"):
            found[ordinal]


def test_the_error_for_a_missing_embedding_folder_names_it():
    with pytest.raises(MissingFileError, match="nowhere: no such folder"):
        sl.infer.load("nowhere")
