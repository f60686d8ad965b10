"""Tests of the classes that save and load model records, in files and in memory."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays as any_array

import seqloom as sl
from seqloom.errors import ArgumentError, RecordError
from seqloom.record import (
    BFloat16,
    Double,
    Full,
    Half,
    JsonGz,
    Record,
    RecordSource,
    Safetensors,
)

RECORDER_CLASSES = [Safetensors, JsonGz]
FILE_SUFFIXES = {Safetensors: "safetensors", JsonGz: "json.gz"}
DTYPE_OF_PRECISION = {Full: "f4", Half: "f2", BFloat16: ml_dtypes.bfloat16, Double: "f8"}
every_recorder = pytest.mark.parametrize("recorder", RECORDER_CLASSES)


def a_record():
    rng = np.random.default_rng(0)
    arrays = {
        "weight": rng.normal(size=(5, 7)).astype("f4"),
        "norm.scale": rng.normal(size=3),
        "count": np.array([1 << 40, -3]),
        "mask": np.array([True, False, True]),
        "turned": np.array([1 + 2j], "c8"),
        "none": np.zeros((0, 4), "f4"),
        "one": np.float32(0.5),
    }
    return Record(arrays, metadata={"epoch": 3, "note": "ä"})


def same(found, expected):
    assert list(found) == list(expected)
    for path, array in expected.items():
        value = np.asarray(found[path])
        assert (value.dtype, value.shape) == (array.dtype, array.shape)
        assert value.tobytes() == array.tobytes()


@every_recorder
def test_a_record_is_restored_from_a_file_and_from_memory(tmp_path, recorder):
    path = tmp_path / "model"
    a_record().save(path, recorder())
    data = recorder().to_bytes(a_record())
    assert path.read_bytes() == data
    for found in (
        recorder().read(path),
        sl.record.load(path, recorder()),
        recorder().from_bytes(data),
    ):
        same(found, a_record())
        assert found.metadata == a_record().metadata


@every_recorder
def test_record_files_are_written_by_suffix_and_read_by_content(tmp_path, recorder):
    path = tmp_path / f"model.{FILE_SUFFIXES[recorder]}"
    a_record().save(path)
    assert path.read_bytes() == recorder().to_bytes(a_record())
    same(sl.record.load(path), a_record())
    same(sl.record.load(path.rename(tmp_path / "model")), a_record())


@every_recorder
@pytest.mark.parametrize("precision", DTYPE_OF_PRECISION)
def test_saving_in_another_precision_converts_only_float_arrays(recorder, precision):
    data = recorder(precision=precision()).to_bytes(a_record())
    expected = {
        path: np.asarray(array).astype(DTYPE_OF_PRECISION[precision])
        if np.asarray(array).dtype.kind == "f"
        else np.asarray(array)
        for path, array in a_record().items()
    }
    same(recorder().from_bytes(data), expected)


@every_recorder
def test_a_large_array_is_converted_in_blocks_with_equal_results(recorder):
    values = np.random.default_rng(1).normal(size=3_000_001)
    data = recorder(precision=Half()).to_bytes(Record({"x": values}))
    same(recorder().from_bytes(data), {"x": values.astype("f2")})


@pytest.mark.parametrize(
    "policy",
    [
        {"*": Half(), "norm.*": Double()},
        lambda path, _: "float64" if path.startswith("norm") else Half(),
    ],
)
def test_a_precision_policy_selects_arrays_by_their_path(policy):
    data = JsonGz(precision=policy).to_bytes(a_record())
    found = JsonGz().from_bytes(data)
    kinds = [str(found[path].dtype) for path in ("weight", "norm.scale", "one", "count")]
    assert kinds == ["float16", "float64", "float16", "int64"]


def test_arrays_that_no_precision_pattern_matches_keep_their_dtype():
    found = Safetensors().from_bytes(
        Safetensors(precision={"norm.*": Half()}).to_bytes(a_record())
    )
    assert (found["weight"].dtype, found["norm.scale"].dtype) == (np.float32, np.float16)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"nrom.*": Half()}, "matches no path"),
        (Half, "such as sl.record.Half"),
        ("float16", "such as sl.record.Half"),
        ({"*": "float16"}, "such as sl.record.Half"),
        (lambda *_: "int8", "returned int8 for weight"),
    ],
)
def test_an_invalid_precision_policy_is_rejected(policy, message):
    with pytest.raises(ArgumentError, match=message):
        Safetensors(precision=policy).to_bytes(a_record())


@every_recorder
def test_a_number_that_would_become_infinite_is_an_error_and_no_file(tmp_path, recorder):
    record = Record({"a": np.ones(2), "weight": np.array([1.0, 1e6])})
    with pytest.raises(
        RecordError, match=r"weight contains 1000000\.0, which is out of range for float16"
    ):
        record.save(tmp_path / "x", recorder(precision=Half()))
    assert not list(tmp_path.iterdir())


def test_infinite_values_stay_infinite_in_half_precision():
    values = np.array([np.inf, -np.inf, np.nan], "f4")
    data = Safetensors(precision=Half()).to_bytes(Record({"x": values}))
    np.testing.assert_array_equal(np.asarray(Safetensors().from_bytes(data)["x"]), values)


@every_recorder
def test_a_precision_does_not_narrow_below_the_least_dtype(recorder):
    record = Record(
        {"x": np.ones(2, "f4"), "variance": np.ones(2), "y": np.ones(2, "f2")},
        least_dtypes={"variance": "float32", "y": "float32"},
    )
    found = recorder().from_bytes(recorder(precision=Half()).to_bytes(record))
    kinds = {path: str(array.dtype) for path, array in found.items()}
    assert kinds == {"x": "float16", "variance": "float32", "y": "float16"}
    assert found.least_dtypes == record.least_dtypes
    both = found.with_prefix("model.") | Record({})
    assert both.under("model.").least_dtypes == record.least_dtypes


@settings(deadline=None, max_examples=25)
@given(
    values=any_array(
        st.sampled_from(["f2", "f4", "f8", "c8", "i1", "u2", "i4", "u8", "?"]),
        array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    ),
    path=st.text(st.characters(codec="utf-8"), max_size=8),
)
def test_every_array_of_a_record_is_restored_bit_for_bit(values, path):
    for recorder in RECORDER_CLASSES:
        found = recorder().from_bytes(recorder().to_bytes(Record({path: values})))
        same(found, {path: values})


def test_a_memory_mapped_record_gives_read_only_views(tmp_path):
    path = tmp_path / "x.safetensors"
    a_record().save(path)
    found = sl.record.load(path, mapped=True)
    same(found, a_record())
    view = np.asarray(found["weight"])
    assert not view.flags.owndata
    assert not view.flags.writeable
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(RecordError, match="damaged"):
        found.verify()


def test_a_numpy_module_uses_a_mapped_file_until_a_step_copies_it(tmp_path):
    path = tmp_path / "x.safetensors"
    layer = sl.nn.Linear(3, 2).bind("numpy", sl.Key(0))
    layer.to_record().save(path)
    again = sl.nn.Linear(3, 2).bind("numpy", sl.Key(1))
    again.load_record(sl.record.load(path, mapped=True))
    assert not again.weight.storage().flags.writeable
    gradients = sl.nn.value_and_grad(lambda net: (net.weight.value * 1.0).sum())(again)[1]
    sl.optim.SGD().step(0.5, again, gradients)
    expected = layer.weight.numpy() - 0.5
    np.testing.assert_array_equal(again.weight.numpy(), expected)
    np.testing.assert_array_equal(sl.record.load(path)["weight"], layer.weight.numpy())


class Npz(sl.record.Recorder):
    """Recorder for a custom file format."""

    def encode(self, record, file):
        arrays: Any = {path: np.asarray(record[path]) for path in record}
        np.savez(file, **arrays)

    def decode(self, source):
        with source.open() as file, np.load(file) as arrays:
            return Record(dict(arrays))


def test_a_custom_recorder_supports_files_memory_and_precision(tmp_path):
    own = Npz()
    own.precision = Half()
    record = Record({"x": np.ones(2), "n": np.arange(2)})
    record.save(tmp_path / "x.npz", own)
    expected = {"x": np.ones(2, "f2"), "n": np.arange(2)}
    same(sl.record.load(tmp_path / "x.npz", own), expected)
    same(own.from_bytes(own.to_bytes(record)), expected)


def test_other_programs_can_read_record_files():
    import base64
    import gzip
    import json

    from safetensors.numpy import load

    record = Record({"weight": np.arange(6, dtype="f4").reshape(2, 3)})
    values = record["weight"]
    assert np.array_equal(load(Safetensors().to_bytes(record))["weight"], values)
    document = json.loads(gzip.decompress(JsonGz().to_bytes(record)))
    entry = document["arrays"]["weight"]
    assert base64.b64decode(entry["data"]) == values.tobytes()
    assert (entry["dtype"], entry["shape"]) == ("F32", [2, 3])


def test_a_file_of_a_later_version_is_rejected():
    from seqloom.record import _facts

    data = Safetensors().to_bytes(a_record())
    later = pytest.MonkeyPatch()
    later.setattr(_facts, "FORMAT_VERSION", 2)
    newer = Safetensors().to_bytes(a_record())
    later.undo()
    assert len(newer) == len(data)
    with pytest.raises(RecordError, match=r"format version 2.*reads versions up to 1"):
        Safetensors().from_bytes(newer)


def test_a_record_source_in_memory_or_in_a_file_has_a_name(tmp_path):
    source = RecordSource.of_bytes(b"ACGT")
    assert (source.name, source.read(1, 3)) == ("bytes", b"CG")
    with pytest.raises(RecordError, match="is truncated"):
        source.read(2, 5)
    (tmp_path / "x").write_bytes(b"ACGT")
    assert RecordSource.of_file(tmp_path / "x").read(0, 4) == b"ACGT"


def test_a_half_precision_pytorch_tensor_is_saved():
    torch = pytest.importorskip("torch")
    values = torch.tensor([1.5, -2.0], dtype=torch.bfloat16, requires_grad=True)
    found = Safetensors().from_bytes(Safetensors().to_bytes(Record({"x": values})))
    assert np.asarray(found["x"]).tolist() == [1.5, -2.0]
    assert found["x"].dtype == ml_dtypes.bfloat16
