"""Arrays in files of PyTorch, Keras and Hugging Face are read without executing code."""

import io
import json
import pickle
import re
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, MissingFileError, RecordError
from seqloom.record import Record


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def h5py():
    return pytest.importorskip("h5py")


def network(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv1d(4, 3, 5), torch.nn.BatchNorm1d(3))


def same(found, state):
    assert sorted(found) == sorted(state)
    for path, tensor in state.items():
        value = np.asarray(found[path])
        wanted = tensor.detach().float().numpy() if tensor.is_floating_point() else tensor
        assert value.shape == tuple(tensor.shape)
        assert str(value.dtype) == str(tensor.dtype).removeprefix("torch.")
        np.testing.assert_array_equal(value.astype(np.asarray(wanted).dtype), wanted)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("name", ["model.pt", "pytorch_model.bin"])
def test_a_pytorch_state_dict_is_read(tmp_path, torch, name, protocol, mapped):
    state = network(torch).state_dict()
    torch.save(state, tmp_path / name, pickle_protocol=protocol)
    same(sl.record.load(tmp_path / name, mapped=mapped), state)


def test_every_type_layout_and_nesting_of_tensors_is_read(tmp_path, torch):
    base = torch.arange(24.0).reshape(4, 6)
    tensors = {
        "turned": base.T,
        "part": base[1:3, 2:5],
        "none": torch.zeros(0, 3),
        "number": torch.tensor(2.5),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        **{
            str(dtype): torch.tensor([1, 0, 3]).to(dtype)
            for dtype in (
                torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
                torch.int16, torch.int8, torch.uint8, torch.bool,
            )
        },
    }  # fmt: skip
    torch.save({"model": tensors, "steps": [1, 2.5, "a", None]}, tmp_path / "x.pt")
    found = sl.record.load(tmp_path / "x.pt")
    same(found.under("model."), tensors)
    assert found.metadata == {f"steps.{n}": v for n, v in enumerate([1, 2.5, "a", None])}
    found.verify()


NEWER_DTYPES = {
    "uint16": 65535,
    "uint32": 2**32 - 1,
    "uint64": 2**63 + 1,
    "complex128": 1 + 2j,
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e8m0fnu": 0.25,
}


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("kind", NEWER_DTYPES)
def test_a_tensor_with_a_newer_pytorch_dtype_is_read(tmp_path, torch, kind, mapped):
    tensor = torch.tensor([1, NEWER_DTYPES[kind], 2], dtype=getattr(torch, kind))
    torch.save({"w": tensor}, tmp_path / "x.pt")
    value = np.asarray(sl.record.load(tmp_path / "x.pt", mapped=mapped)["w"])
    assert value.dtype.name == kind
    assert value.tolist() == [1, NEWER_DTYPES[kind], 2]


def test_a_tensor_that_numpy_cannot_represent_names_the_conversion(tmp_path, torch):
    torch.save({"w": torch.ones(2).to_sparse()}, tmp_path / "x.pt")
    with pytest.raises(
        RecordError, match=r"x\.pt: .*arrays cannot represent.*tensor\.to_dense\(\)"
    ):
        sl.record.load(tmp_path / "x.pt")


@pytest.mark.parametrize(
    "nested",
    [
        {"a": {"b": 0}, "a.b": 1},
        {"a": [0], "a.0": 1},
        {1: 0, "1": 1},
        {"a": {"b": "text"}, "a.b": 1},
    ],
    ids=str,
)
def test_two_tensors_with_the_same_path_are_an_error(tmp_path, torch, nested):
    def to_tensors(tree):
        if isinstance(tree, dict):
            return {key: to_tensors(value) for key, value in tree.items()}
        if isinstance(tree, list):
            return list(map(to_tensors, tree))
        return tree if isinstance(tree, str) else torch.tensor([tree])

    torch.save(to_tensors(nested), tmp_path / "x.pt")
    with pytest.raises(RecordError, match=r"x\.pt: two values have the path '.*Rename"):
        sl.record.load(tmp_path / "x.pt")


@pytest.mark.parametrize("mapped", [False, True])
def test_a_huge_tensor_with_stride_zero_is_rejected(tmp_path, torch, mapped):
    torch.save({"w": torch.ones(1).expand(1 << 40)}, tmp_path / "x.pt")
    with pytest.raises(RecordError, match=r"w would take \d+ bytes, but the file has"):
        sl.record.load(tmp_path / "x.pt", mapped=mapped)


@pytest.mark.parametrize("mapped", [False, True])
def test_lazily_conjugated_and_negated_tensors_are_read(tmp_path, torch, mapped):
    base = torch.tensor([[1 + 2j, 3 - 4j], [0.5j, -0.0]])
    whole = torch.tensor([1, 0, -128], dtype=torch.int8)
    tensors = {
        "plain": base,
        "conjugate": base.conj(),
        "turned": base.mH,
        "part": base.clone().conj()[1:, 1],
        "imaginary": torch.tensor([1 + 2j, 3 + 0j]).conj().imag,
        "both": torch._neg_view(base.clone().conj()),  # noqa: SLF001
        "whole": torch._neg_view(whole),  # noqa: SLF001
        "half": torch._neg_view(torch.tensor([1.5, 0.0], dtype=torch.bfloat16)),  # noqa: SLF001
        "none": torch.zeros(0, dtype=torch.complex64).conj(),
        "parameter": torch.nn.Parameter(base.clone()).conj().detach(),
    }
    assert tensors["conjugate"].is_conj()
    assert tensors["imaginary"].is_neg()
    torch.save(tensors, tmp_path / "x.pt")
    found = sl.record.load(tmp_path / "x.pt", mapped=mapped)
    for path, tensor in tensors.items():
        wanted = tensor.resolve_conj().resolve_neg()
        wanted = wanted.float() if path == "half" else wanted
        value = np.asarray(found[path])
        assert value.shape == tuple(wanted.shape)
        value = value.astype(np.float32) if path == "half" else value
        assert value.tobytes() == np.ascontiguousarray(wanted.numpy()).tobytes()


def test_unknown_tensor_metadata_is_rejected(tmp_path, torch):
    torch.save({"w": torch.ones(2, dtype=torch.complex64).conj()}, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "y.pt", "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data.replace(b"conj", b"zero"))
    with pytest.raises(RecordError, match=r"y\.pt: .*a tensor of complex64 .*'zero'"):
        sl.record.load(tmp_path / "y.pt")


def test_a_layer_loads_pytorch_weights(tmp_path, torch):
    theirs = torch.nn.Linear(3, 2)
    torch.save({"module.fc": theirs.state_dict()}, tmp_path / "x.pt")
    ours = sl.nn.Linear(3, 2).bind("numpy", sl.Key(0))
    ours.load_record(sl.record.load(tmp_path / "x.pt"), keys={"module.fc.*": "*"})
    x = torch.ones(1, 3)
    np.testing.assert_allclose(
        ours(ours.backend.tensor(x.numpy())).numpy(), theirs(x).detach().numpy(), rtol=1e-6
    )


class Canary:
    """Object whose unpickling creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self.path),)


class Evaluated(Canary):
    def __reduce__(self) -> tuple[Any, ...]:
        return eval, (f"__import__('pathlib').Path({str(self.path)!r}).touch()",)  # noqa: S307


@pytest.mark.parametrize("kind", [Canary, Evaluated])
@pytest.mark.parametrize("protocol", [2, 4])
def test_a_pytorch_file_that_needs_code_is_rejected_by_name(
    tmp_path, torch, kind, protocol
):
    canary = tmp_path / "canary"
    state = {"w": torch.ones(2), "evil": kind(canary)}
    torch.save(state, tmp_path / "x.pt", pickle_protocol=protocol)
    name = "(pathlib|getattr)" if kind is Canary else "eval"
    with pytest.raises(RecordError, match=rf"x\.pt: needs .*{name}.*may run code"):
        sl.record.load(tmp_path / "x.pt")
    assert not canary.exists()
    torch.load(tmp_path / "x.pt", weights_only=False)
    assert canary.exists()  # Check that unpickling the object creates the file.


def with_pickle(path, data):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", data)
    return path


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.",
        b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02ls\x85R.",
        b"\x80\x02ccollections\nOrderedDict\n)\x81.",
        b"\x80\x02(i__builtin__\neval\n.",
        b"\x80\x02\x82\x01.",
        b"\x80\x02]q\x00h\x00a}X\x01\x00\x00\x00ah\x00s.",
        b"\x80\x02}X\x01\x00\x00\x00a",
        b"\x80\x02h\x05.",
        b"\x80\x02u.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.",
        b"",
        b"\xff",
    ],
)
def test_a_crafted_pickle_is_an_error(tmp_path, data):
    with pytest.raises(RecordError, match=r"x\.pt: "):
        sl.record.load(with_pickle(tmp_path / "x.pt", data))


def test_a_compressed_pickle_is_rejected_before_decompression(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/data.pkl", b"\x80\x02" + bytes(1 << 26))
    tracemalloc.start()
    with pytest.raises(RecordError, match=r"x\.pt: x/data\.pkl is compressed"):
        sl.record.load(tmp_path / "x.pt")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 22


def test_a_dict_that_contains_itself_is_an_error(tmp_path):
    data = b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s."
    with pytest.raises(RecordError, match="contain themselves"):
        sl.record.load(with_pickle(tmp_path / "x.pt", data))


def test_an_empty_tuple_in_a_pickle_is_read(tmp_path):
    pickled = b"\x80\x02}X\x01\x00\x00\x00a(ts."
    assert len(sl.record.load(with_pickle(tmp_path / "x.pt", pickled))) == 0


@pytest.mark.parametrize(("depth", "is_read"), [(31, True), (32, False)])
def test_dicts_in_a_pytorch_file_may_be_nested_up_to_the_limit(
    tmp_path, torch, depth, is_read
):
    tree = {"w": torch.ones(2)}
    for _ in range(depth):
        tree = {"a": tree}
    torch.save(tree, tmp_path / "x.pt")
    if is_read:
        assert list(sl.record.load(tmp_path / "x.pt")) == ["a." * depth + "w"]
        return
    with pytest.raises(RecordError, match="contain themselves"):
        sl.record.load(tmp_path / "x.pt")


@pytest.mark.parametrize(
    "size", [b"J\xff\xff\xff\xff", b"G?\xf0\x00\x00\x00\x00\x00\x00", b"\x88"]
)
def test_a_tensor_with_an_invalid_size_is_an_error(tmp_path, torch, size):
    torch.save({"w": torch.ones(77)}, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "y.pt", "w") as archive:
        for name, data in members.items():
            # The number 77 occurs twice: as the storage size, and as the shape.
            head, mark, rest = data.rpartition(b"KM\x85")
            archive.writestr(name, head + size + b"\x85" + rest if mark else data)
    with pytest.raises(RecordError, match="a tensor has impossible sizes"):
        sl.record.load(tmp_path / "y.pt")


def test_exponentially_shared_dicts_in_a_pytorch_file_are_an_error(tmp_path):
    shared = ["leaf"]
    for _ in range(40):
        shared = [shared, shared]
    with pytest.raises(RecordError, match="too many values"):
        sl.record.load(with_pickle(tmp_path / "x.pt", pickle.dumps(shared, 2)))


def test_a_tensor_outside_its_storage_is_an_error(tmp_path, torch):
    torch.save({"w": torch.ones(4, 4)}, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "y.pt", "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data[:8] if name.endswith("data/0") else data)
    with pytest.raises(RecordError, match="w has no storage that is large enough"):
        sl.record.load(tmp_path / "y.pt")


def test_a_flipped_bit_in_a_pytorch_tensor_is_an_error(tmp_path, torch):
    torch.save({"w": torch.arange(64.0)}, tmp_path / "x.pt")
    data = bytearray((tmp_path / "x.pt").read_bytes())
    place = data.find(np.arange(64.0, dtype="f4").tobytes())
    data[place + 9] ^= 1
    (tmp_path / "x.pt").write_bytes(data)
    with pytest.raises(RecordError, match="w is damaged"):
        sl.record.load(tmp_path / "x.pt").verify()


def test_old_pytorch_files_and_other_pickles_are_rejected(tmp_path, torch):
    torch.save(
        {"w": torch.ones(2)}, tmp_path / "x.pt", _use_new_zipfile_serialization=False
    )
    (tmp_path / "y.pkl").write_bytes(pickle.dumps({"w": [1, 2]}))
    for name in ("x.pt", "y.pkl"):
        with pytest.raises(
            RecordError, match=r"is a pickle.*save it again with torch.save"
        ):
            sl.record.load(tmp_path / name)


def test_a_torchscript_program_is_rejected(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        for name in ("data.pkl", "constants.pkl"):
            archive.writestr(f"x/{name}", b"\x80\x02}.")
    with pytest.raises(RecordError, match="TorchScript program"):
        sl.record.load(tmp_path / "x.pt")


LAMBDA_LAYER = {
    "class_name": "Lambda",
    "config": {"function": ["4wEAAAAAAAAAAAAAAAAAAAAA", None, None]},
}


def write_keras(h5py, file, *, prefix=""):
    rng = np.random.default_rng(0)
    arrays = {
        "conv/conv/kernel:0": rng.normal(size=(5, 4, 3)).astype("f4"),
        "conv/conv/bias:0": rng.normal(size=3).astype("f4"),
    }
    with h5py.File(file, "w") as root:
        for name, array in arrays.items():
            root[prefix + name] = array
        root.attrs["keras_version"] = "2.1.5"
        root.attrs["model_config"] = json.dumps({"layers": [LAMBDA_LAYER]})
    return arrays


@pytest.mark.parametrize("prefix", ["", "model_weights/"])
def test_keras_arrays_are_read_and_lambda_layers_are_not_executed(tmp_path, h5py, prefix):
    arrays = write_keras(h5py, tmp_path / "x.h5", prefix=prefix)
    found = sl.record.load(tmp_path / "x.h5")
    assert sorted(found) == ["conv.conv.bias", "conv.conv.kernel"]
    np.testing.assert_array_equal(found["conv.conv.kernel"], arrays["conv/conv/kernel:0"])
    assert found.metadata["keras_version"] == "2.1.5"
    assert "Lambda" in found.metadata["model_config"]


def test_a_key_map_can_transpose_a_keras_kernel(tmp_path, h5py):
    arrays = write_keras(h5py, tmp_path / "x.h5")
    layer = sl.nn.Conv1d(4, 3, 5).bind("numpy", sl.Key(0))
    keys = {
        "conv.conv.*": "*",
        "conv.conv.kernel": ("weight", lambda kernel: kernel.transpose(2, 1, 0)),
    }
    layer.load_record(sl.record.load(tmp_path / "x.h5"), keys=keys)
    expected = arrays["conv/conv/kernel:0"].transpose(2, 1, 0)
    np.testing.assert_array_equal(layer.weight.numpy(), expected)


def test_weights_of_a_keras_3_archive_are_read(tmp_path, h5py):
    memory = io.BytesIO()
    arrays = write_keras(h5py, memory)
    with zipfile.ZipFile(tmp_path / "x.keras", "w") as archive:
        archive.writestr("config.json", json.dumps({"layers": [LAMBDA_LAYER]}))
        archive.writestr("model.weights.h5", memory.getvalue())
    found = sl.record.load(tmp_path / "x.keras")
    np.testing.assert_array_equal(found["conv.conv.bias"], arrays["conv/conv/bias:0"])


def packed_keras(h5py, path, method=zipfile.ZIP_DEFLATED):
    memory = io.BytesIO()
    write_keras(h5py, memory)
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("model.weights.h5", memory.getvalue())
    return bytearray(path.read_bytes())


def test_a_flipped_bit_in_a_keras_archive_is_an_error_or_changes_nothing(tmp_path, h5py):
    data = packed_keras(h5py, tmp_path / "x.keras")
    whole = {
        path: np.asarray(it) for path, it in sl.record.load(tmp_path / "x.keras").items()
    }
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        (tmp_path / "y.keras").write_bytes(flipped)
        try:
            found = sl.record.load(tmp_path / "y.keras")
        except RecordError:
            continue
        assert found.keys() == whole.keys()
        assert all((np.asarray(found[path]) == whole[path]).all() for path in whole)


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [(8, b"\x63\x00", "method 99"), (6, b"\x01\x00", "encrypted")],
    ids=["an unknown method", "a password"],
)
def test_an_unreadable_zip_member_is_an_error(tmp_path, h5py, at, value, reason):
    data = packed_keras(h5py, tmp_path / "x.keras")
    data[at : at + 2] = value
    directory = data.rindex(b"PK\x01\x02") + at + 2
    data[directory : directory + 2] = value
    (tmp_path / "x.keras").write_bytes(data)
    with pytest.raises(RecordError, match=rf"x\.keras: .*{reason}"):
        sl.record.load(tmp_path / "x.keras")


@pytest.mark.parametrize("stated", [None, 10])
def test_a_zip_bomb_is_rejected_before_it_uses_memory(tmp_path, stated):
    with zipfile.ZipFile(tmp_path / "x.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.weights.h5", bytes(1 << 27))
    if stated is not None:  # both zip headers contain a size that is too small
        data = (tmp_path / "x.keras").read_bytes()
        true, false = ((1 << 27).to_bytes(4, "little"), stated.to_bytes(4, "little"))
        (tmp_path / "x.keras").write_bytes(data.replace(true, false))
    tracemalloc.start()
    with pytest.raises(RecordError, match=r"x\.keras: "):
        sl.record.load(tmp_path / "x.keras")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 23


def test_an_hdf5_array_far_larger_than_its_file_is_rejected(tmp_path, h5py):
    with h5py.File(tmp_path / "x.h5", "w") as root:
        root.create_dataset("w", (1 << 40,), "f4", chunks=(1 << 20,))
    with pytest.raises(RecordError, match=r"x\.h5: w would take \d+ bytes"):
        np.asarray(sl.record.load(tmp_path / "x.h5")["w"])


def test_a_named_hdf5_datatype_is_not_read_as_an_array(tmp_path, h5py):
    with h5py.File(tmp_path / "x.h5", "w") as root:
        root["kind"] = np.dtype("f4")
    with pytest.raises(RecordError, match="kind is a named HDF5 type"):
        sl.record.load(tmp_path / "x.h5")


def test_two_hdf5_arrays_with_the_same_path_are_an_error(tmp_path, h5py):
    with h5py.File(tmp_path / "x.h5", "w") as root:
        root["a/b"] = np.ones(2)
        root["a.b"] = np.zeros(2)
    with pytest.raises(RecordError, match=r"two arrays have the path a\.b"):
        sl.record.load(tmp_path / "x.h5")


def test_hdf5_links_to_other_files_are_not_followed(tmp_path, h5py):
    write_keras(h5py, tmp_path / "other.h5")
    for name, link in {
        "external": h5py.ExternalLink("other.h5", "/conv"),
        "soft": h5py.SoftLink("/nothing"),
    }.items():
        with h5py.File(tmp_path / f"{name}.h5", "w") as root:
            root["x"] = link
        with pytest.raises(RecordError, match="x is a link"):
            sl.record.load(tmp_path / f"{name}.h5")
    with h5py.File(tmp_path / "raw.h5", "w") as root:
        root.create_dataset("x", (4,), "u1", external=[("other.h5", 0, 4)])
    with pytest.raises(RecordError, match="x is in another file"):
        sl.record.load(tmp_path / "raw.h5")


def test_hdf5_groups_that_contain_themselves_are_an_error(tmp_path, h5py):
    with h5py.File(tmp_path / "x.h5", "w") as root:
        root.create_group("a")
        root["a/b"] = root["a"]
    with pytest.raises(RecordError, match="a/b is linked twice"):
        sl.record.load(tmp_path / "x.h5")


def test_a_keras_file_without_h5py_names_the_package(tmp_path, h5py, monkeypatch):
    write_keras(h5py, tmp_path / "x.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(sl.errors.MissingExtraError, match="pip install h5py"):
        sl.record.load(tmp_path / "x.h5")


FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


def sharded(folder, files):
    Record({"a": np.ones(2), "b": np.zeros(3)}).save(folder / FIRST)
    Record({"c": np.arange(4)}).save(folder / SECOND)
    index = {"metadata": {"total_size": 72}, "weight_map": files}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


FILE_OF_EACH_ARRAY = {"a": FIRST, "b": FIRST, "c": SECOND}


@pytest.mark.parametrize("mapped", [False, True])
def test_a_folder_of_several_files_is_read_by_its_index(tmp_path, mapped):
    sharded(tmp_path, FILE_OF_EACH_ARRAY)
    found = sl.record.load(tmp_path, mapped=mapped)
    assert {path: np.asarray(array).tolist() for path, array in found.items()} == {
        "a": [1, 1],
        "b": [0, 0, 0],
        "c": [0, 1, 2, 3],
    }


@pytest.mark.parametrize(
    ("files", "error", "message"),
    [
        ({**FILE_OF_EACH_ARRAY, "d": SECOND}, RecordError, "its arrays differ from .*: d"),
        ({"a": FIRST, "c": SECOND}, RecordError, "its arrays differ from .*: b"),
        ({**FILE_OF_EACH_ARRAY, "c": "model-3.safetensors"}, MissingFileError, "model-3"),
        (
            {**FILE_OF_EACH_ARRAY, "c": f"../{SECOND}"},
            RecordError,
            "must be in a file of the folder",
        ),
        (
            {**FILE_OF_EACH_ARRAY, "c": f"/etc/{SECOND}"},
            RecordError,
            "must be in a file of the folder",
        ),
        ({**FILE_OF_EACH_ARRAY, "c": 3}, RecordError, "must be in a file of the folder"),
        ([], RecordError, "has no weight_map"),
    ],
)
def test_an_invalid_index_of_several_weight_files_is_an_error(
    tmp_path, files, error, message
):
    sharded(tmp_path, files)
    with pytest.raises(error, match=message):
        sl.record.load(tmp_path)


def test_a_folder_needs_exactly_one_weight_file_or_an_index(tmp_path):
    Record({"a": np.ones(2)}).save(tmp_path / "model.safetensors")
    assert list(sl.record.load(tmp_path)) == ["a"]
    Record({"a": np.ones(2)}).save(tmp_path / "other.safetensors")
    with pytest.raises(RecordError, match="several weight files"):
        sl.record.load(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingFileError, match="contains no weights"):
        sl.record.load(tmp_path / "empty")


def test_pytorch_files_in_a_folder_are_read(tmp_path, torch):
    torch.save({"a": torch.ones(2)}, tmp_path / "pytorch_model.bin")
    assert np.asarray(sl.record.load(tmp_path)["a"]).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"nothing.*": "*"}, "matches no path"),
        ({"*": "*.*"}, "as many"),
        ({"weight": "bias"}, "and another path to 'bias'"),
        ({"weight": 3}, "must return a path"),
        (lambda _: 3, "must return a path"),
    ],
)
def test_an_invalid_key_map_is_rejected(keys, message):
    layer = sl.nn.Linear(3, 2).bind("numpy", sl.Key(0))
    with pytest.raises(ArgumentError, match=message):
        layer.load_record(layer.to_record(), keys=keys)


def test_a_function_of_the_key_map_that_fails_is_named_with_its_array():
    layer = sl.nn.Linear(3, 2).bind("numpy", sl.Key(0))
    keys = {"weight": ("weight", lambda _: 1 / 0), "*": "*"}
    with pytest.raises(RecordError, match="in keys for weight failed: division by zero"):
        layer.load_record(layer.to_record(), keys=dict(reversed(keys.items())))


UNSAFE_CALL_PATTERN = re.compile(
    r"\b(?:pickle|dill|cloudpickle|joblib|marshal)\.loads?\b|\bUnpickler\b"
    r"|allow_pickle=True"
    r"|(?<![.\w])(?:eval|exec)\(|torch\.load\("
)
# Source files that may unpickle data that processes of one run exchange, or may execute
# generated code.
EXCLUDED_FILES = {
    "data/loader/_worker.py",
    "tensor/_compile/_numpy/_program.py",
    "tensor/_graph.py",
}


def test_no_loading_function_unpickles_or_evaluates_code():
    root = Path(sl.__file__).parent
    # A method has the name eval, and an error message names the second call.
    safe = re.compile(r"def eval\(|torch\.save\(torch\.load\('old\.pt'")
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if UNSAFE_CALL_PATTERN.search(safe.sub("", path.read_text("utf-8")))
    }
    assert found <= EXCLUDED_FILES
