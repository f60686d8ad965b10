"""Records of unusual dtypes, of many arrays and with crafted headers."""

import io
import json
import math
import zlib
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ConfigError, FormatError, RecordError
from seqloom.record import JsonGz, Record

UNUSUAL_DTYPES = [
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "complex64",
    "bool",
    "u2",
]


@pytest.mark.parametrize("kind", UNUSUAL_DTYPES)
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 4)])
def test_arrays_of_every_dtype_are_restored(tmp_path, kind, shape):
    values = np.ones(shape).astype(getattr(ml_dtypes, kind, kind))
    Record({"x": values}).save(tmp_path / "x.safetensors")
    found = np.asarray(sl.record.load(tmp_path / "x.safetensors")["x"])
    assert (found.dtype, found.shape) == (values.dtype, shape)
    np.testing.assert_array_equal(found.astype("c8"), values.astype("c8"))


def test_a_half_precision_file_of_another_program_is_read(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    save_file({"x": torch.tensor([1.5, 2.0], dtype=torch.bfloat16)}, tmp_path / "x.st")
    found = np.asarray(sl.record.load(tmp_path / "x.st")["x"])
    assert found.astype("f4").tolist() == [1.5, 2]


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_a_model_in_half_precision_is_saved_and_read(tmp_path, name):
    pytest.importorskip(name)
    layer = sl.nn.Linear(3, 2).bind(name, sl.Key(0)).to(name, "bfloat16")
    layer.to_record().save(tmp_path / "x.safetensors")
    again = sl.nn.Linear(3, 2).bind(name, sl.Key(1)).to(name, "bfloat16")
    again.load_record(sl.record.load(tmp_path / "x.safetensors"))
    np.testing.assert_array_equal(again.weight.numpy(), layer.weight.numpy())


def test_a_record_of_thousands_of_arrays_is_read(tmp_path):
    path = tmp_path / "many.safetensors"
    Record({f"{n}": np.full(1, n) for n in range(4000)}).save(path)
    found = sl.record.load(path)
    assert [int(np.asarray(each)[0]) for each in found.values()] == list(range(4000))


def written(path, header, data=b""):
    """Write a safetensors file with the header `header`."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def with_facts(path, text):
    """Write a file with the metadata `text` and a valid checksum."""
    entry = f"seqloom facts {zlib.crc32(text.encode()):08x} {text}"
    return written(path, {"__metadata__": {"seqloom": entry}})


INVALID_METADATA = {
    "a list": "[]",
    "nothing": "null",
    "deep lists": "[" * 100_000 + "]" * 100_000,
    "sums that are a list": '{"crc32": [], "metadata": {}}',
    "sums that are texts": '{"crc32": {"x": "1"}, "metadata": {}}',
    "facts that are a list": '{"crc32": {}, "metadata": []}',
    "a name twice": '{"crc32": {}, "metadata": {"epoch": 1, "epoch": 2}}',
    "sums of what is not there": '{"crc32": {"x": 1}, "metadata": {}}',
    "no JSON": "{",
}


@pytest.mark.parametrize("case", INVALID_METADATA)
def test_crafted_metadata_are_rejected(tmp_path, case):
    path = with_facts(tmp_path / "x.safetensors", INVALID_METADATA[case])
    with pytest.raises(RecordError, match=r"x\.safetensors"):
        sl.record.load(path)


def of(**arrays):
    """Return a safetensors header with 1-D arrays, from their lengths and offsets."""
    return {
        name: {"dtype": "F32", "shape": [length], "data_offsets": places}
        for name, (length, *places) in arrays.items()
    }


HEADER_ENTRY = '{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'


@pytest.mark.parametrize(
    "header",
    [
        b'{"x":' + HEADER_ENTRY.encode() + b',"x":' + HEADER_ENTRY.encode() + b"}",
        {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},
        {"x": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}},
        {"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 400]}},
        {"x": {"dtype": "X1", "shape": [1], "data_offsets": [0, 4]}},
        {"x": {"dtype": "F32"}},
        b'{"x":{"dtype":"\\ud800","shape":[1],"data_offsets":[0,4]}}',
        [],
        b"\xff\xfe",
        b"[" * 100_000,
        of(x=(1, 4, 8)),
        of(x=(1, 0, 4), y=(1, 0, 4)),
        of(x=(1, 0, 4), y=(0, 2, 2)),
        of(x=(1, 0, 4), y=(0, 9, 9)),
        of(x=(0, 0, 0)),
        of(x=(1, 4, 0)),
        {"x": {"dtype": "F32", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 4]}},
        {"x": {"dtype": "F32", "shape": [1 << 62, 1 << 62, 0], "data_offsets": [0, 0]}},
        {"x": {"dtype": "F32", "shape": [1] * 1000, "data_offsets": [0, 4]}},
        {"x": {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}},
        of(x=(1, 0, 4)) | {"__metadata__": {"a": {}}},
    ],
    ids=[
        *("twice", "shape", "negative", "places", "type", "lacks", "surrogate", "list"),
        *("bytes", "deep"),
        *("a gap", "overlap", "nothing", "beyond", "more bytes", "backwards"),
        *("a huge shape", "a huge empty shape", "many axes", "a fraction", "facts"),
    ],
)
def test_crafted_headers_are_rejected(tmp_path, header):
    path = written(tmp_path / "x.safetensors", header, bytes(4))
    with pytest.raises(RecordError, match=r"x\.safetensors"):
        sl.record.load(path)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b'{"\\ud800":' + HEADER_ENTRY.encode() + b"}", "not valid Unicode"),
        (
            b'{"__metadata__":{"a":"\\ud800"},"x":' + HEADER_ENTRY.encode() + b"}",
            "not valid Unicode",
        ),
        (b"\xef\xbb\xbf" + b'{"x":' + HEADER_ENTRY.encode() + b"}", "byte order mark"),
        (f'{{"x":{HEADER_ENTRY}}}'.encode("utf-16-le"), "not valid"),
        (f'{{"x":{HEADER_ENTRY}}}'.encode("utf-16"), "not UTF-8"),
    ],
    ids=["name", "metadata", "byte order mark", "UTF-16", "UTF-16 with mark"],
)
def test_a_header_that_the_reference_library_rejects_is_rejected(tmp_path, header, reason):
    theirs = pytest.importorskip("safetensors")
    path = written(tmp_path / "x.safetensors", header, bytes(4))
    with pytest.raises(theirs.SafetensorError):
        theirs.safe_open(path, "numpy").__enter__()
    with pytest.raises(RecordError, match=rf"x\.safetensors: .*{reason}"):
        sl.record.load(path)


@pytest.mark.parametrize("length", [0, 7, 101 << 20, 1 << 40, 1 << 63, (1 << 64) - 1])
def test_a_header_with_an_impossible_length_is_rejected(tmp_path, length):
    data = json.dumps(of(x=(1, 0, 4))).encode() + bytes(4)
    (tmp_path / "x.safetensors").write_bytes(length.to_bytes(8, "little") + data)
    with pytest.raises(RecordError, match=r"x\.safetensors"):
        sl.record.load(tmp_path / "x.safetensors")


@pytest.mark.parametrize("shape", [[1] * 1000, [1 << 62, 1 << 62, 0], [1 << 63, 0]])
def test_an_impossible_shape_in_json_is_rejected(shape):
    data = np.zeros(math.prod(shape), "f4").view("u1")
    with pytest.raises(RecordError, match="impossible shape"):
        JsonGz().from_bytes(crafted(JsonGz(), shape, data)).copy()


def test_bytes_that_do_not_fit_the_shape_are_rejected_despite_a_valid_checksum():
    data = crafted(JsonGz(), [3], np.zeros(13, "u1"))
    with pytest.raises(RecordError, match="x has a wrong number of bytes"):
        JsonGz().from_bytes(data)


class Odd(dict[str, Any]):
    """Record whose arrays are written without a check of their shapes."""

    metadata, least_dtypes = {}, {}


def crafted(recorder, shape, data):
    """Return the bytes that a recorder writes for an array with a wrong shape."""
    file = io.BytesIO()
    array = SimpleNamespace(
        kind="F32", shape=shape, nbytes=data.size, blocks=lambda: [data]
    )
    recorder.encode(Odd(x=array), file)
    return file.getvalue()


def test_a_file_deleted_or_truncated_after_opening_is_an_error(tmp_path):
    path = tmp_path / "x.safetensors"
    Record({"x": np.ones(9)}).save(path)
    array = sl.record.load(path)["x"]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RecordError, match="was changed after it was opened"):
        np.asarray(array)
    path.unlink()
    with pytest.raises(RecordError, match="can no longer be read"):
        np.asarray(array)


@pytest.mark.parametrize("content", [b"id\t\xff\n", b"id\tgc\na\tmuch\n", b"id\tgc\na\n"])
def test_a_file_that_is_not_a_score_table_is_rejected(tmp_path, content):
    path = tmp_path / "scores.tsv"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"scores\.tsv"):
        sl.infer.Scores.read_tsv(path)


def test_a_dict_instead_of_a_number_in_settings_is_rejected():
    settings = sl.encode.Kmer(3).to_dict()
    with pytest.raises(ConfigError, match=r"Kmer\.k: expected a plain value, got settings"):
        sl.encode.Kmer.from_dict({**settings, "k": sl.encode.OneHot().to_dict()})


@pytest.mark.parametrize(
    "change",
    [{"class": ["OneHot"]}, {"version": [1]}, {"dtype": "\ud800"}, {"alphabet": "\ud800"}],
)
def test_crafted_settings_are_rejected(change):
    settings = {**sl.encode.OneHot("dna").to_dict(), **change}
    with pytest.raises(ConfigError):
        sl.encode.OneHot.from_dict(settings)


@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff", b"[]"])
def test_settings_that_are_not_a_dict_are_rejected(tmp_path, content):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(ConfigError, match=r"config\.json"):
        sl.models.load(tmp_path)


def test_arrays_of_the_other_byte_order_are_restored(tmp_path):
    Record({"x": np.arange(3, dtype=">f4")}).save(tmp_path / "x.safetensors")
    found = np.asarray(sl.record.load(tmp_path / "x.safetensors")["x"])
    assert (found.dtype, found.tolist()) == (np.float32, [0, 1, 2])


UNSUPPORTED_ARRAYS = {
    "text": np.array(["a"]),
    "object": np.array([None]),
    "date": np.array(["2020"], "M8[D]"),
    "complex128": np.ones(1, "c16"),
    "masked": np.ma.masked_equal([1.0, 2.0], 2.0),
    "ragged": [[1], [1, 2]],
}


@pytest.mark.parametrize("kind", UNSUPPORTED_ARRAYS)
def test_unsupported_arrays_are_rejected_by_name_and_nothing_is_written(tmp_path, kind):
    with pytest.raises(RecordError, match="weight"):
        Record({"weight": UNSUPPORTED_ARRAYS[kind]}).save(tmp_path / "x.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".safetensors", ".json.gz"])
def test_a_name_that_is_not_valid_unicode_is_rejected(tmp_path, suffix):
    with pytest.raises(RecordError, match="valid Unicode"):
        Record({"\ud800": np.ones(1)}).save(tmp_path / f"x{suffix}")


@pytest.mark.parametrize("name", ["__metadata__", 1])
def test_a_reserved_array_name_is_rejected(tmp_path, name):
    with pytest.raises(RecordError, match="must be a string other than"):
        Record({name: np.ones(1)}).save(tmp_path / "x.safetensors")


def test_metadata_may_contain_numpy_numbers_but_no_other_objects(tmp_path):
    facts = {"lr": np.float32(0.5), "n": np.int64(3)}
    Record({}, metadata=facts).save(tmp_path / "x.safetensors")
    assert sl.record.load(tmp_path / "x.safetensors").metadata == {"lr": 0.5, "n": 3}
    with pytest.raises(RecordError, match="not a set"):
        Record({}, metadata={"tags": {1}}).save(tmp_path / "y.safetensors")
