"""Recurrent ONNX operators return the results of ONNX Runtime."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import seqloom as sl
from onnx_graphs import floats, node, reference, save

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

GATE_COUNT = {"GRU": 3, "LSTM": 4, "RNN": 1}
INPUT_ARRAY = floats(6, 3, 2)  # axes: position, record, input feature
HIDDEN_WIDTH = 5
OUTPUT_NAMES = {"GRU": ("y", "h"), "LSTM": ("y", "h", "c"), "RNN": ("y", "h")}


def weights(operator, directions, *, width=HIDDEN_WIDTH, inside=2, seed=1):
    """Return the input weights, the state weights and the biases of a node."""
    rows = GATE_COUNT[operator] * width
    return {
        "w": floats(directions, rows, inside, seed=seed),
        "r": floats(directions, rows, width, seed=seed + 1) / 2,
        "b": floats(directions, 2 * rows, seed=seed + 2),
    }


def compare(path, operator, inputs: Any = "x w r b", given_=None, more=None, **attributes):
    """Compare all outputs of one node with those of ONNX Runtime."""
    kind = attributes.get("direction", "forward")
    arrays = {**weights(operator, 2 if kind == "bidirectional" else 1), **(more or {})}
    fed = given_ or {"x": INPUT_ARRAY}
    one = node(
        operator, inputs, OUTPUT_NAMES[operator], hidden_size=HIDDEN_WIDTH, **attributes
    )
    file = save(
        path / "one.onnx", [one], fed, weights=arrays, outputs=OUTPUT_NAMES[operator]
    )
    ours = sl.models.from_onnx(file)(*fed.values())
    for name, found, expected in zip(
        OUTPUT_NAMES[operator], ours, reference(file, fed), strict=True
    ):
        assert found.shape == expected.shape, name
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("operator", GATE_COUNT)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_each_recurrent_direction_matches_onnx_runtime(tmp_path, operator, direction):
    compare(tmp_path, operator, direction=direction)


@pytest.mark.parametrize("operator", GATE_COUNT)
def test_recurrent_biases_are_optional(tmp_path, operator):
    compare(tmp_path, operator, "x w r")


@pytest.mark.parametrize("operator", GATE_COUNT)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_sequence_lengths_of_a_recurrent_onnx_node_limit_each_record(
    tmp_path, operator, direction
):
    lengths = {"l": np.array([6, 2, 4], np.int32)}
    compare(tmp_path, operator, "x w r b l", more=lengths, direction=direction)


@pytest.mark.parametrize("operator", GATE_COUNT)
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_initial_states_of_a_recurrent_onnx_node_are_used(tmp_path, operator, direction):
    count = 2 if direction == "bidirectional" else 1
    first = {
        "h0": floats(count, 3, HIDDEN_WIDTH, seed=7),
        "c0": floats(count, 3, HIDDEN_WIDTH, seed=8),
    }
    first = first if operator == "LSTM" else {"h0": first["h0"]}
    names = f"x w r b - {' '.join(first)}"
    compare(tmp_path, operator, names, {"x": INPUT_ARRAY, **first}, direction=direction)


def test_a_gru_may_apply_the_reset_gate_after_the_product(tmp_path):
    compare(tmp_path, "GRU", linear_before_reset=1, direction="bidirectional")


@pytest.mark.parametrize(
    ("operator", "names"),
    [
        ("RNN", ["Relu"]),
        ("RNN", ["Affine"]),
        ("GRU", ["HardSigmoid", "Tanh"]),
        ("GRU", ["Sigmoid", "Softsign"]),
        ("LSTM", ["HardSigmoid", "Tanh", "Relu"]),
        ("LSTM", ["Sigmoid", "ScaledTanh", "Elu"]),
    ],
)
def test_other_recurrent_activations_match_onnx_runtime(tmp_path, operator, names):
    numbers = {"activation_alpha": [0.3], "activation_beta": [0.4]}
    needs = {"Affine", "HardSigmoid", "ScaledTanh"}.intersection(names)
    compare(tmp_path, operator, activations=names, **(numbers if needs else {}))


def test_lstm_gates_may_have_peepholes(tmp_path):
    peepholes = {"p": floats(1, 3 * HIDDEN_WIDTH, seed=9)}
    compare(tmp_path, "LSTM", "x w r b - - - p", more=peepholes)


def test_the_forget_gate_may_be_tied_to_the_input_gate(tmp_path):
    compare(tmp_path, "LSTM", input_forget=1)


def test_computed_recurrent_weights_are_split_at_each_call(tmp_path):
    arrays = weights("LSTM", 2)
    nodes = [
        node("Mul", "w two", ("v",)),
        node("LSTM", "x v r b", direction="bidirectional", hidden_size=HIDDEN_WIDTH),
    ]
    file = save(
        tmp_path / "net.onnx",
        nodes,
        {"x": INPUT_ARRAY},
        weights={**arrays, "two": np.float32(2)},
    )
    net = sl.models.from_onnx(file)
    np.testing.assert_allclose(
        net(INPUT_ARRAY).numpy(), reference(file, {"x": INPUT_ARRAY})[0], atol=1e-5
    )
    assert net.parameters("w")[0][1].shape == (2, 4 * HIDDEN_WIDTH, 2)


def test_recurrent_weights_are_split_by_direction_in_pytorch_gate_order(tmp_path):
    arrays = weights("LSTM", 2)
    one = node("LSTM", "x w r b", direction="bidirectional", hidden_size=HIDDEN_WIDTH)
    net = sl.models.from_onnx(
        save(tmp_path / "net.onnx", [one], {"x": INPUT_ARRAY}, weights=arrays)
    )
    paths = [path for path, _ in net.parameters()]
    assert sorted(paths) == [
        *("b.forward.hh", "b.forward.ih", "b.reverse.hh", "b.reverse.ih"),
        *("r.forward", "r.reverse", "w.forward", "w.reverse"),
    ]
    i, o, f, c = np.split(arrays["w"][1], 4)
    found = net.to_record()["w.reverse"]
    np.testing.assert_array_equal(np.asarray(found), np.concatenate([i, f, c, o]))


@given(
    positions=st.integers(1, 9),
    records=st.integers(1, 4),
    operator=st.sampled_from(["GRU", "LSTM", "RNN"]),
    data=st.data(),
)
@settings(deadline=None, max_examples=25)
def test_recurrent_nodes_of_any_size_match_onnx_runtime(
    tmp_path_factory, positions, records, operator, data
):
    width, inside = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 5))
    arrays = weights(operator, 2, width=width, inside=inside)
    x = floats(positions, records, inside)
    one = node(operator, "x w r b", direction="bidirectional", hidden_size=width)
    path = tmp_path_factory.mktemp("sizes") / "net.onnx"
    file = save(path, [one], {"x": x}, weights=arrays)
    found = sl.models.from_onnx(file)(x).numpy()
    np.testing.assert_allclose(found, reference(file, {"x": x})[0], rtol=1e-4, atol=1e-5)
