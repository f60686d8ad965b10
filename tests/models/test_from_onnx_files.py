"""Truncated, invalid and hostile ONNX files are rejected."""

import numpy as np
import pytest

import seqloom as sl
from onnx_graphs import FLOAT, floats, node, save
from seqloom.errors import (
    FileError,
    FormatError,
    MissingFileError,
    OperationError,
    SeqloomError,
)

onnx = pytest.importorskip("onnx")

from onnx import helper, numpy_helper  # noqa: E402 - where the package is there

INPUT_ARRAY = floats(2, 3)


def write_small(path, **options):
    """Write a file with one matrix product."""
    return save(
        path / "net.onnx",
        [node("MatMul", "x w")],
        {"x": INPUT_ARRAY},
        weights={"w": INPUT_ARRAY.T},
        **options,
    )


def write_changed(path, change):
    """Write the small ONNX file, changed by a function."""
    model = onnx.load(write_small(path))
    change(model)
    path = path / "changed.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def store_externally(model, location, **facts):
    """Declare that the weight is stored in another file."""
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **facts}.items():
        entry = weight.external_data.add()
        entry.key, entry.value = key, str(value)


def test_a_missing_onnx_file_is_an_error(tmp_path):
    with pytest.raises(MissingFileError, match="no such file"):
        sl.models.from_onnx(tmp_path / "none.onnx")


def test_a_folder_instead_of_an_onnx_file_is_an_error(tmp_path):
    with pytest.raises(FileError, match="cannot be read"):
        sl.models.from_onnx(tmp_path)


@pytest.mark.parametrize("text", [b"", b"PK\x03\x04", b">read\nACGT\n", b"\x80\x04."])
def test_a_file_that_is_not_onnx_is_an_error(tmp_path, text):
    path = tmp_path / "net.onnx"
    path.write_bytes(text)
    with pytest.raises(FormatError, match="not an ONNX file"):
        sl.models.from_onnx(path)


def test_a_truncated_onnx_file_is_an_error(tmp_path):
    text = write_small(tmp_path).read_bytes()
    path = tmp_path / "cut.onnx"
    for end in range(len(text)):
        path.write_bytes(text[:end])
        with pytest.raises(FormatError):
            sl.models.from_onnx(path)


def test_a_changed_byte_in_an_onnx_file_raises_an_error_or_gives_numbers(tmp_path):
    text = write_small(tmp_path).read_bytes()
    path = tmp_path / "changed.onnx"
    for place in range(len(text)):
        for flip in (1, 128):
            path.write_bytes(text[:place] + bytes([text[place] ^ flip]) + text[place + 1 :])
            try:
                found = sl.models.from_onnx(path)(INPUT_ARRAY)
            except SeqloomError:
                continue
            assert found.shape


@pytest.mark.parametrize("opset", [6, 99])
def test_an_unknown_opset_is_an_error(tmp_path, opset):
    def change(model):
        model.opset_import[0].version = opset

    with pytest.raises(FormatError, match=f"uses opset {opset}, but only 7 to"):
        sl.models.from_onnx(write_changed(tmp_path, change))


def test_a_cycle_in_an_onnx_graph_is_an_error(tmp_path):
    nodes = [node("Add", "x b", ("a",), name="first"), node("Relu", "a", ("b",))]
    file = save(tmp_path / "a.onnx", nodes, {"x": INPUT_ARRAY}, outputs=("b",))
    with pytest.raises(
        FormatError, match=r"'first' \(Add\) reads 'b', which no earlier node"
    ):
        sl.models.from_onnx(file)


def test_an_onnx_value_that_is_defined_twice_is_an_error(tmp_path):
    nodes = [node("Relu", "x"), node("Abs", "x")]
    with pytest.raises(FormatError, match="defines 'y' a second time"):
        sl.models.from_onnx(save(tmp_path / "a.onnx", nodes, {"x": INPUT_ARRAY}))


def test_an_undefined_onnx_output_is_an_error(tmp_path):
    with pytest.raises(FormatError, match="the graph's outputs reads 'z'"):
        sl.models.from_onnx(write_small(tmp_path, outputs=("z",)))


def test_an_onnx_weight_with_fewer_numbers_than_its_shape_is_an_error(tmp_path):
    def change(model):
        model.graph.initializer[0].dims[0] = 2**40

    with pytest.raises(FormatError, match="'w' cannot be read"):
        sl.models.from_onnx(write_changed(tmp_path, change))


def test_an_onnx_weight_with_a_negative_size_is_an_error(tmp_path):
    def change(model):
        model.graph.initializer[0].dims[0] = -3

    with pytest.raises(FormatError, match="'w' has a negative size"):
        sl.models.from_onnx(write_changed(tmp_path, change))


def test_an_onnx_weight_of_strings_is_an_error(tmp_path):
    def change(model):
        words = helper.make_tensor("w", onnx.TensorProto.STRING, [1], np.array([b"a"]))
        model.graph.initializer[0].CopyFrom(words)

    with pytest.raises(FormatError, match="only booleans, integers and floats"):
        sl.models.from_onnx(write_changed(tmp_path, change))


def test_external_weights_in_the_models_folder_are_read(tmp_path):
    (tmp_path / "weights.bin").write_bytes(b"head" + INPUT_ARRAY.T.copy().tobytes())
    file = write_changed(tmp_path, lambda it: store_externally(it, "weights.bin", offset=4))
    found = sl.models.from_onnx(file)(np.eye(3, dtype="f4")).numpy()
    np.testing.assert_array_equal(found, INPUT_ARRAY.T)


@pytest.mark.parametrize("place", ["../secret.bin", "{}/secret.bin", "", ".", "a\0b"])
def test_external_weights_outside_the_models_folder_are_not_read(tmp_path, place):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret.bin").write_bytes(INPUT_ARRAY.tobytes())
    file = write_changed(home, lambda it: store_externally(it, place.format(tmp_path)))
    with pytest.raises(FormatError, match="outside the model's folder"):
        sl.models.from_onnx(file)


def test_a_link_out_of_the_models_folder_is_not_followed(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret.bin").write_bytes(INPUT_ARRAY.tobytes())
    (home / "weights.bin").symlink_to(tmp_path / "secret.bin")
    file = write_changed(home, lambda it: store_externally(it, "weights.bin"))
    with pytest.raises(FormatError, match="outside the model's folder"):
        sl.models.from_onnx(file)


@pytest.mark.parametrize("facts", [{"offset": 4}, {"offset": -8}, {"offset": 2**70}])
def test_weights_beyond_the_end_of_their_file_are_an_error(tmp_path, facts):
    (tmp_path / "weights.bin").write_bytes(INPUT_ARRAY.tobytes())
    file = write_changed(tmp_path, lambda it: store_externally(it, "weights.bin", **facts))
    with pytest.raises(FormatError, match="which has 24"):
        sl.models.from_onnx(file)


def test_a_missing_weight_file_of_onnx_is_an_error(tmp_path):
    file = write_changed(tmp_path, lambda it: store_externally(it, "weights.bin"))
    with pytest.raises(MissingFileError, match=r"weights\.bin: no such file"):
        sl.models.from_onnx(file)


@pytest.mark.parametrize(
    ("operator", "inputs", "shape"),
    [
        ("Expand", "x s", [2**30, 2, 3]),
        ("Tile", "x s", [2**30, 2**30]),
        ("ConstantOfShape", "s", [2**40]),
        ("Reshape", "x s", [-1, -1]),
    ],
)
def test_a_shape_larger_than_memory_is_an_error(tmp_path, operator, inputs, shape):
    weights = {"s": np.array(shape, np.int64)}
    nodes = [node(operator, inputs, ("a",)), node("Add", "x a")]
    file = save(tmp_path / "a.onnx", nodes, {"x": INPUT_ARRAY}, weights=weights)
    with pytest.raises(OperationError, match=f"\\({operator}\\): "):
        sl.models.from_onnx(file)(INPUT_ARRAY)


def test_an_if_with_a_constant_condition_runs_one_branch(tmp_path):
    y = [helper.make_tensor_value_info("z", FLOAT, None)]
    yes = helper.make_graph([node("Relu", "x", ("z",))], "yes", [], y)
    no = helper.make_graph([node("Neg", "x", ("z",))], "no", [], y)
    nodes = [
        node("Shape", "x", ("s",)),
        node("Size", "s", ("rank",)),
        node("Equal", "rank two", ("is_matrix",)),
        helper.make_node("If", ["is_matrix"], ["y"], then_branch=yes, else_branch=no),
    ]
    weights = {"two": np.int64(2)}
    file = save(tmp_path / "a.onnx", nodes, {"x": INPUT_ARRAY}, weights=weights)
    net = sl.models.from_onnx(file)
    np.testing.assert_array_equal(net(INPUT_ARRAY).numpy(), np.maximum(INPUT_ARRAY, 0))
    np.testing.assert_array_equal(net(INPUT_ARRAY[None]).numpy(), -INPUT_ARRAY[None])


def test_functions_defined_in_an_onnx_file_are_inlined(tmp_path):
    body = [node("Relu", "a", ("b",)), node("Neg", "b", ("c",))]
    ours = helper.make_function(
        "own", "Down", ["a"], ["c"], body, [helper.make_opsetid("", 21)]
    )
    x = helper.make_tensor_value_info("x", FLOAT, None)
    y = helper.make_tensor_value_info("y", FLOAT, None)
    calls = [helper.make_node("Down", ["x"], ["y"], domain="own")]
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    graph = helper.make_graph(calls, "graph", [x], [y])
    model = helper.make_model(graph, functions=[ours], opset_imports=imports)
    path = tmp_path / "a.onnx"
    onnx.save(model, path)
    found = sl.models.from_onnx(path)(INPUT_ARRAY).numpy()
    np.testing.assert_array_equal(found, -np.maximum(INPUT_ARRAY, 0))


def test_constant_weights_of_an_onnx_file_are_parameters(tmp_path):
    weight = numpy_helper.from_array(INPUT_ARRAY.T.copy())
    nodes = [node("Constant", "", ("w",), value=weight), node("MatMul", "x w")]
    net = sl.models.from_onnx(save(tmp_path / "a.onnx", nodes, {"x": INPUT_ARRAY}))
    assert [path for path, _ in net.parameters()] == ["w"]


@pytest.mark.parametrize("name", [b"weight", b"MatMul", b"answer"])
def test_a_name_that_is_not_utf8_is_an_error(tmp_path, name):
    model = onnx.load(write_small(tmp_path))
    model.graph.initializer[0].name = model.graph.node[0].input[1] = "weight"
    model.graph.node[0].output[0] = model.graph.output[0].name = "answer"
    text = model.SerializeToString()
    assert name in text
    (tmp_path / "net.onnx").write_bytes(text.replace(name, b"\xff" + name[1:]))
    with pytest.raises(FormatError, match="is not UTF-8"):
        sl.models.from_onnx(tmp_path / "net.onnx")
