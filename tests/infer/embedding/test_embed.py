"""Tests of `embed` and `load`: pooling, windows, files, and reading embeddings back."""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from safetensors.numpy import load_file

import embed_job
import seqloom as sl
from seqloom.errors import (
    AlphabetError,
    ArgumentError,
    ConfigError,
    FileError,
    FormatError,
    IdError,
    MemoryLimitError,
    MissingFileError,
    NotFiniteError,
    OutOfRangeError,
    RunFolderError,
    ShapeError,
)

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"


def write_fasta(path, lengths, seed=0):
    rng = np.random.default_rng(seed)
    records = ["".join(rng.choice(list(AMINO_ACIDS), size)) for size in lengths]
    Path(path).write_text(
        "".join(f">s{number}\n{record}\n" for number, record in enumerate(records))
    )
    return records


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lengths = np.random.default_rng(1).integers(1, 300, 90)
    return write_fasta("a.fa", lengths), write_fasta("b.fa", lengths[:40], seed=5)


@pytest.mark.parametrize("packing", [True, False])
@pytest.mark.parametrize("kind", ["safetensors", "parquet"])
def test_mean_pooling_averages_the_embeddings_of_residues(files, packing, kind):
    records = [*files[0], *files[1]]
    options: Any = {"packing": packing, "format": kind}
    sl.infer.embed(
        embed_job.embed_tokens, ["a.fa", "b.fa"], out="e", shard_size=32, **options
    )
    found = sl.infer.load("e")
    expected = [embed_job.expected_mean(record) for record in records]
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6, atol=1e-6)
    assert found.ids == [f"s{n}" for n in range(90)] + [f"s{n}" for n in range(40)]
    assert found.lengths.tolist() == [len(record) for record in records]


@pytest.mark.parametrize("packing", [True, False])
@pytest.mark.parametrize("kind", ["safetensors", "parquet"])
def test_embeddings_without_pooling_have_a_row_for_each_residue(files, packing, kind):
    options: Any = {"packing": packing, "format": kind, "dtype": "float16"}
    sl.infer.embed(
        embed_job.embed_tokens, "a.fa", out="e", shard_size=32, pool="none", **options
    )
    found = sl.infer.load("e")
    tokens = sl.encode.Tokens("esm2")
    for ordinal in (0, 31, 32, 89):
        rows = embed_job.EMBEDDING_TABLE[tokens(files[0][ordinal])[1:-1]].astype(np.float16)
        np.testing.assert_array_equal(found[ordinal], rows)


def test_cls_pooling_returns_the_embedding_of_the_first_token(files):
    sl.infer.embed(embed_job.embed_tokens, "a.fa", out="e", pool="cls")
    np.testing.assert_array_equal(
        sl.infer.load("e").to_numpy(), np.tile(embed_job.EMBEDDING_TABLE[0], (90, 1))
    )


def embed_positions(batch):
    """Return the window of each residue, and the residue's index in the window."""
    sizes = np.diff(batch["cu_seqlens"])
    starts = np.repeat(batch["starts"], sizes)
    return np.stack([starts, batch["position_ids"]], axis=1).astype(np.float32)


@settings(max_examples=25, deadline=None)
@given(length=st.integers(1, 90), longest=st.integers(2, 20), overlap=st.integers(0, 19))
def test_overlapping_windows_use_the_window_with_the_farther_edge(
    tmp_path_factory, length, longest, overlap
):
    overlap = min(overlap, longest - 1)
    folder = tmp_path_factory.mktemp("windows")
    write_fasta(folder / "a.fa", [length])
    sl.infer.embed(
        embed_positions,
        folder / "a.fa",
        out=folder / "e",
        pool="none",
        max_length=longest,
        overlap=overlap,
    )
    starts, positions = sl.infer.load(folder / "e")[0].T
    np.testing.assert_array_equal(starts + positions - 1, np.arange(length))
    # In an overlap, a residue is taken from the window whose edge is farther away,
    # except in the last window of a record.
    for start in np.unique(starts)[1:]:
        first = int((starts >= start).argmax())
        assert first - start == overlap // 2 or overlap == 0 or first - start <= overlap


def test_the_mean_over_windows_equals_the_mean_over_all_residues(files):
    options: Any = {"max_length": 50, "overlap": 7}
    sl.infer.embed(embed_job.embed_tokens, "a.fa", out="e", shard_size=32, **options)
    expected = [embed_job.expected_mean(record) for record in files[0]]
    np.testing.assert_allclose(
        sl.infer.load("e").to_numpy(), expected, rtol=1e-5, atol=1e-6
    )


def test_embed_calls_a_pytorch_module_with_arrays_by_parameter_name(files):
    import torch

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding.from_pretrained(
                torch.tensor(embed_job.EMBEDDING_TABLE)
            )

        def forward(self, input_ids, mask):
            return self.table(input_ids) * mask[..., None]

    sl.infer.embed(Network(), "a.fa", out="e", packing=False)
    expected = [embed_job.expected_mean(record) for record in files[0]]
    np.testing.assert_allclose(
        sl.infer.load("e").to_numpy(), expected, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_embed_calls_a_seqloom_module_with_arrays_by_parameter_name(files, backend):
    class Table(sl.nn.Module):
        table: sl.nn.Embedding

        def __init__(self):
            self.table = sl.nn.Embedding(33, embed_job.EMBEDDING_WIDTH)

        def __call__(self, input_ids):
            return self.table(input_ids)

    network = Table().bind(backend, 0)
    network.load_record({"table.weight": embed_job.EMBEDDING_TABLE})
    sl.infer.embed(network, "a.fa", out="e")
    expected = [embed_job.expected_mean(record) for record in files[0]]
    np.testing.assert_allclose(
        sl.infer.load("e").to_numpy(), expected, rtol=1e-5, atol=1e-6
    )


def test_pool_model_stores_embeddings_that_the_model_has_pooled(files):
    sl.infer.embed(
        lambda batch: np.diff(batch["cu_seqlens"])[:, None].astype(np.float32),
        "a.fa",
        out="e",
        pool="model",
        identity="lengths",
    )
    lengths = [len(record) + 2 for record in files[0]]
    assert sl.infer.load("e").to_numpy()[:, 0].tolist() == lengths


def test_embedding_files_can_be_read_without_seqloom(files):
    sl.infer.embed(embed_job.embed_tokens, "a.fa", out="e", shard_size=50)
    arrays = load_file("e/shard-000001.safetensors")
    assert arrays["ordinals"].tolist() == list(range(50, 90))
    done = json.loads(Path("e/shard-000001.done").read_text())
    data = Path("e/shard-000001.safetensors").read_bytes()
    assert done["sha256"] == hashlib.sha256(data).hexdigest()


def test_records_with_equal_ids_have_separate_embeddings(tmp_path):
    (tmp_path / "a.fa").write_text(">x\nMK\n>x\nML\n>y\nM\n")
    embed_job.run(tmp_path / "a.fa", tmp_path / "e")
    found = sl.infer.load(tmp_path / "e")
    np.testing.assert_allclose(found[1], embed_job.expected_mean("ML"), rtol=1e-6)
    with pytest.raises(IdError, match=r"2 records have the id 'x'.*\(0, 1\)"):
        found["x"]
    with pytest.raises(IdError, match="no record has the id 'z'"):
        found["z"]
    with pytest.raises(OutOfRangeError, match="from 0 to 2"):
        found[3]


def test_a_record_id_is_never_used_as_a_path(tmp_path):
    names = ["../../up", "a/b", "'q'", '"', "\x1b[31mred", "x" * 300, ".", "ä"]
    text = "".join(f">{name}\nMK\n" for name in names)
    (tmp_path / "a.fa").write_text(text)
    embed_job.run(tmp_path / "a.fa", tmp_path / "e")
    assert sl.infer.load(tmp_path / "e").ids == names
    assert {path.name for path in (tmp_path / "e").iterdir()} == {
        "plan.json",
        "complete.json",
        "report.html",
        "shard-000000.safetensors",
        "shard-000000.done",
    }


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"pool": "cls"}, "pool: 'mean' in plan.json, 'cls' now"),
        ({"dtype": "float16"}, "dtype"),
        ({"identity": "other"}, "model"),
        ({"shard_size": 10}, "shard_size"),
        ({"tokens": sl.encode.Tokens("esm2", unknown="mask")}, "tokens"),
    ],
)
def test_embedding_with_other_options_in_a_used_folder_is_an_error(files, changed, named):
    sl.infer.embed(embed_job.embed_tokens, "a.fa", out="e", shard_size=32)
    options: Any = {"shard_size": 32, **changed}
    with pytest.raises(ConfigError, match=named):
        sl.infer.embed(embed_job.embed_tokens, "a.fa", out="e", **options)


def test_continuing_an_embedding_job_on_a_changed_file_is_an_error(files):
    sl.infer.embed(embed_job.embed_tokens, "a.fa", out="e", shard_size=32)
    with Path("a.fa").open("a") as file:
        file.write(">one more\nMK\n")
    with pytest.raises(ConfigError, match=r"size of .*a\.fa"):
        sl.infer.embed(embed_job.embed_tokens, "a.fa", out="e", shard_size=32)


def test_repeating_a_finished_embedding_job_computes_no_embeddings(files):
    assert embed_job.run("a.fa", "e", 32).computed == 3
    again = embed_job.run("a.fa", "e", 32)
    assert (again.computed, again.sequences, again.records) == (0, 0, 90)


def test_resume_false_does_not_overwrite_embeddings(files):
    embed_job.run("a.fa", "e")
    with pytest.raises(RunFolderError, match="--no-resume"):
        embed_job.run("a.fa", "e", resume=False)


def test_records_before_an_invalid_record_are_embedded_by_a_slow_model(tmp_path):
    def embed_slowly(batch):
        time.sleep(0.2)  # the reader thread raised an error earlier
        return embed_job.embed_tokens(batch)

    (tmp_path / "a.fa").write_text(">s1\nMKT\n>s2\nMKT\n>bad\nMK1T\n")
    with pytest.raises((AlphabetError, FormatError), match="bad"):
        sl.infer.embed(embed_slowly, tmp_path / "a.fa", out=tmp_path / "e", shard_size=1)
    assert sl.infer.load(tmp_path / "e", partial=True).ids == ["s1", "s2"]


def test_an_invalid_character_stops_an_embedding_job_after_whole_shards(tmp_path):
    text = "".join(f">s{n}\nMKT\n" for n in range(8)) + ">bad\nMK1T\n"
    (tmp_path / "a.fa").write_text(text)
    with pytest.raises((AlphabetError, FormatError), match="bad"):
        embed_job.run(tmp_path / "a.fa", tmp_path / "e", 4)
    assert len(sl.infer.load(tmp_path / "e", partial=True)) == 8
    with pytest.raises(FileError, match="1 of 3 shards are not finished"):
        sl.infer.load(tmp_path / "e")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no records|empty"),
        (">a\nMK\n>b\n>c\nM\n", r"record 1 \(b\) is empty"),
        (">a\nMK\n>b\n" + "M" * 100_000 + "\n", "100,000 residues.*--max-length"),
    ],
)
def test_embed_checks_the_first_records_before_it_starts(tmp_path, text, message):
    (tmp_path / "a.fa").write_text(text)
    with pytest.raises((FormatError, ShapeError), match=message):
        embed_job.run(tmp_path / "a.fa", tmp_path / "e")


def test_the_error_for_an_embedding_with_nan_names_its_record(files):
    def overflow(batch):
        values = embed_job.EMBEDDING_TABLE[batch["input_ids"]]
        return np.where((batch["input_ids"] == 20)[:, None], np.nan, values)

    with pytest.raises(NotFiniteError, match=r"record \d+ \('s\d+'\) is not finite"):
        sl.infer.embed(overflow, "a.fa", out="e")


def test_an_embedding_too_large_for_float16_is_an_error(files):
    def large(batch):
        return np.full((batch["input_ids"].size, 2), 1e6, np.float32)

    with pytest.raises(NotFiniteError, match="float16"):
        sl.infer.embed(large, "a.fa", out="e", dtype="float16")


def test_the_error_for_embeddings_of_a_wrong_shape_suggests_a_remedy(files):
    with pytest.raises(ShapeError, match='pool="model" needs a row for each'):
        sl.infer.embed(lambda batch: np.zeros((batch["num_sequences"], 3)), "a.fa", out="e")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pool": "max"}, "pool must be"),
        ({"dtype": "float64"}, "dtype must be"),
        ({"format": "csv"}, "format must be"),
        ({"layers": ()}, "layers must be"),
        ({"layers": (1, 1)}, "layers must be"),
        ({"max_tokens": 2}, "max_tokens"),
        ({"overlap": 3}, "overlap= is for windows"),
        ({"max_length": 10, "overlap": 10}, "overlap must be below"),
        ({"max_length": 5000}, "max_length must be at most 4094"),
        ({"shard_size": 0}, "shard_size"),
        ({"layers": (0, 3)}, "needs a model with a method embed"),
    ],
)
def test_the_error_for_an_invalid_argument_of_embed_names_it(files, options, message):
    with pytest.raises(ArgumentError, match=message):
        sl.infer.embed(embed_job.embed_tokens, "a.fa", out="e", **options)


def test_embed_halves_its_batches_if_device_memory_is_full(files):
    seen = []

    def small_memory(batch):
        seen.append(batch["input_ids"].size)
        if seen[-1] > 1000:
            raise MemoryError
        return embed_job.EMBEDDING_TABLE[batch["input_ids"]]

    summary = sl.infer.embed(small_memory, "a.fa", out="e", max_tokens=3000)
    assert "max_tokens=" in summary.notes[0]
    expected = [embed_job.expected_mean(record) for record in files[0]]
    np.testing.assert_allclose(
        sl.infer.load("e").to_numpy(), expected, rtol=1e-6, atol=1e-6
    )


def test_numpy_integers_in_embed_options_are_saved_as_integers(files):
    sizes: Any = {"shard_size": 32, "max_tokens": 3000, "max_length": 50, "overlap": 5}
    wide: Any = {name: np.int64(size) for name, size in sizes.items()}
    sl.infer.embed(embed_job.embed_tokens, "a.fa", out="wide", **wide)
    sl.infer.embed(embed_job.embed_tokens, "a.fa", out="plain", **sizes)
    assert Path("wide/plan.json").read_bytes() == Path("plain/plan.json").read_bytes()


@pytest.mark.parametrize(
    ("pool", "advice"),
    [("mean", r"in windows: max_length="), ("model", "leave long records out of the file")],
)
@pytest.mark.usefixtures("files")
def test_the_error_for_a_record_too_long_for_memory_suggests_a_remedy(pool, advice):
    def full(batch):
        raise MemoryError

    with pytest.raises(MemoryLimitError, match=advice):
        sl.infer.embed(full, "a.fa", out="e", pool=pool, identity="full")


def test_the_error_for_a_folder_without_embeddings_names_it(tmp_path):
    with pytest.raises(FileError, match="no such folder"):
        sl.infer.load(tmp_path / "none")
    with pytest.raises(MissingFileError, match=r"plan\.json.* is missing"):
        sl.infer.load(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_the_error_for_a_corrupt_embedding_shard_names_it(files, damage):
    embed_job.run("a.fa", "e", 32)
    path = Path("e/shard-000001.safetensors")
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-8] if damage == "cut" else data)
    with pytest.raises((FileError, FormatError), match="shard-000001"):
        sl.infer.load("e").to_numpy()
