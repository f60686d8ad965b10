"""Exported networks run by Rust return the same bits as the evaluation loop."""

import json
import subprocess
import sys
from copy import copy
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

import seqloom as sl
from exported import batch_of
from exported_networks import (
    NETWORKS_OF_ANY_LENGTH,
    NETWORKS_OF_SOME_LENGTHS,
    draw_records,
    ready,
)
from native_calls import run_native
from seqloom._rust import _native
from seqloom.infer._forward import Forward

DNA_ENCODER = sl.encode.OneHot("dna")
STORED_CNN_EXPORT = Path(__file__).parent / "data" / "version_1_cnn"
EXPORTED_NETWORKS = {
    **NETWORKS_OF_ANY_LENGTH,
    **NETWORKS_OF_SOME_LENGTHS,
    "cnn": lambda: sl.models.SequenceCNNConfig(channels=4, outputs=3).build(),
}


# NumPy's sine and cosine differ from Rust's in the last bits.
INEXACT_NETWORKS = frozenset({"attention", "rotary"})


def open_model(place, **options):
    """Return the model and the names of its inputs."""
    model = _native.ExportedModel(str(place), **options)
    return model, {it["name"] for it in json.loads(model.facts)["inputs"]}


def given(batch, names):
    """Return the arrays of a batch that a model reads; without padding, omit the mask."""
    if batch["mask"].all():
        names = names - {"mask"}
    return {name: np.ascontiguousarray(batch[name]) for name in names}


@pytest.mark.sample(7)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", EXPORTED_NETWORKS)
@pytest.mark.parametrize("lengths", [(24, 24, 24), (16,), (24, 16, 32, 24, 72)])
def test_rust_scores_are_bitwise_equal_to_predict(tmp_path, name, lengths, threads):
    network = ready(EXPORTED_NETWORKS[name]())
    sl.export.save(network, tmp_path / "model", encoder=DNA_ENCODER)
    model, names = open_model(tmp_path / "model")
    batch = batch_of(DNA_ENCODER, draw_records(lengths), "float32")
    (found,) = model.run(given(batch, names), threads)
    if batch["mask"].all():
        del batch["mask"]
    wanted: Any = Forward.of(network)(network, batch, encoder=DNA_ENCODER).numpy()
    if name in INEXACT_NETWORKS:
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    else:
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("lengths", [(9,), (5, 12, 7)])
def test_rust_computes_an_exported_esm2_on_packed_tokens(tmp_path, lengths):
    network = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy").eval()
    sl.export.save(network, tmp_path / "esm", encoder=sl.encode.Tokens("esm2"), pool="mean")
    ids = np.random.default_rng(0).integers(4, 24, sum(lengths)).astype("int32")
    starts = np.cumsum([0, *lengths]).astype("int32")
    model, _ = open_model(tmp_path / "esm")
    (found,) = model.run({"input_ids": ids, "cu_seqlens": starts}, 1)
    wanted = network(ids, starts, max(lengths)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("name", ["cnn", "lstm"])
def test_rust_computes_the_scores_of_a_stored_export(name):
    place = STORED_CNN_EXPORT.with_name(f"version_1_{name}")
    model, names = open_model(place)
    lengths = (30, 24, 30, 17, 9)
    with sl.io.open_sequences(Path(sl.__file__).parent / "_demo/test.fa.gz") as reader:
        found = [bytes(it.sequence) for it, _ in zip(reader, lengths, strict=False)]
    cut = [it[:length].decode() for it, length in zip(found, lengths, strict=True)]
    wanted = json.loads(place.with_suffix(".json").read_text())
    task = sl.models.Classify(("EI", "IE", "N"))
    scores = task.activate(model.run(given(batch_of(DNA_ENCODER, cut), names), 1)[0])
    np.testing.assert_allclose(scores, np.array(wanted), rtol=1e-5, atol=1e-6)


def test_an_exported_model_above_the_memory_limit_is_an_error():
    with pytest.raises(sl.errors.MemoryLimitError, match="larger limit"):
        open_model(STORED_CNN_EXPORT, memory_limit=1000)
    model, names = open_model(STORED_CNN_EXPORT, memory_limit=200_000)
    with pytest.raises(sl.errors.SeqloomError, match="larger limit"):
        model.run({"inputs": np.zeros((4000, 4, 30), np.float32)}, 1)
    assert "inputs" in names


def test_an_exported_model_rejects_an_input_of_another_dtype():
    model, _ = open_model(STORED_CNN_EXPORT)
    with pytest.raises(sl.errors.ArgumentError, match="inputs: expected float32"):
        model.run({"inputs": np.zeros((1, 4, 30))}, 1)
    with pytest.raises(sl.errors.ArgumentError, match="is no input"):
        model.run({"reads": np.zeros((1, 4, 30), np.float32)}, 1)


def run_limited(calls):
    """Return errors of operations in a process with 1 GiB and a model limit of 64 MiB."""
    code = f"""
import resource
import numpy as np
from native_calls import run_native
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
for name, arrays, args, options, (shape, dtype) in {calls!r}:
    given = [*(np.ones(*it) for it in arrays), *args]
    made = np.broadcast_to(np.zeros((), dtype), shape)
    try:
        run_native(name, given, options, [made], memory_limit=1 << 26)
    except MemoryError as error:
        print("MemoryError", error)
    except Exception as error:
        print("error", error)
"""
    command, here = [sys.executable, "-c", code], Path(__file__).parents[1]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=here)
    return found.returncode, found.stdout.splitlines(), found.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory is Linux's")
def test_graph_operations_above_the_memory_limit_raise_errors():
    tera, far = 10**12, 1 << 26
    sizes = {"padding": [far // 2] * 2, "dilation": [far] * 2, "groups": 2}
    image, weight = ((1, 2, 1, 1), "f4"), ((2, 1, 2, 2), "f4")
    calls = [
        ("one_hot", [((1,), "i8")], [tera], {}, ((1, tera), "i8")),
        ("conv2d", [image, weight], [], sizes, ((1, 2, 1, 1), "f4")),
    ]
    for call in calls:
        code, lines, errors = run_limited([call])
        assert code == 0, errors
        (line,) = lines
        assert "is larger than the 67108864 bytes that may be used" in line


@pytest.mark.parametrize(
    ("name", "args", "options", "wanted"),
    [
        ("triu", [], {"k": -(2**63)}, [[0, 1, 2], [3, 4, 5]]),
        ("roll", [(1, 1)], {"axis": 1}, [[1, 2, 0], [4, 5, 3]]),
        ("add", [2**53 + 1], {}, 2**53 + 1 + np.arange(6).reshape(2, 3)),
    ],
    ids=["triu", "roll", "add"],
)
def test_large_integers_in_an_exported_graph_are_exact(name, args, options, wanted):
    x = np.arange(6).reshape(2, 3)
    (found,) = run_native(name, [x, *args], options, [x])
    np.testing.assert_array_equal(found, np.array(wanted, "int64"))


def test_the_memory_limit_applies_to_all_files_of_an_export_together(tmp_path):
    folder = tmp_path / "model"
    sl.export.save(ready(EXPORTED_NETWORKS["cnn"]()), folder, encoder=DNA_ENCODER)
    sizes = [it.stat().st_size for it in folder.iterdir()]
    with pytest.raises(MemoryError, match=r"more than the .* that may be used for it"):
        _native.ExportedModel(str(folder), sum(sizes) - 1)


def test_overlapping_files_in_an_exported_zip_are_an_error(tmp_path):
    place = tmp_path / "model.zip"
    sl.export.save(ready(EXPORTED_NETWORKS["cnn"]()), place, encoder=DNA_ENCODER)
    with ZipFile(place, "a") as archive:
        entry = copy(archive.getinfo("model.safetensors"))
        entry.filename = "encoder.safetensors"
        archive.filelist.append(entry)
        archive.writestr("graph-extra", b"")  # rewrites the directory of the zip
    with pytest.raises(ValueError, match="larger than the zip"):
        _native.ExportedModel(str(place))
