"""One small file for each ONNX operator and each of its unusual settings."""

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from onnx import helper

from onnx_graphs import FLOAT, INT64, floats, node


@dataclass
class Case:
    """The nodes, inputs and weights of an ONNX file."""

    name: str
    nodes: list[Any]
    inputs: dict[str, Any]
    weights: dict[str, Any] = field(default_factory=dict[str, Any])
    opset: int = 21
    outputs: tuple[str, ...] = ("y",)


INPUT_ROWS = floats(2, 3, 10)
INPUT_IMAGES = floats(2, 3, 6, 7)
INTEGER_ARRAY = np.array([[3, -7, 5], [0, 2, -4]])
BOOLEAN_ARRAY = INTEGER_ARRAY > 0


def one(operator, inputs="x", *, given=None, weights=None, opset=21, name="", **attributes):
    """Return a file with one node."""
    settings = [f"{key}={value}" for key, value in attributes.items()]
    label = " ".join([operator, *([name] if name else []), *settings, f"opset={opset}"])
    nodes = [node(operator, inputs, **attributes)]
    return Case(label, nodes, given or {"x": INPUT_ROWS}, weights or {}, opset)


def integers(*values):
    """Return an integer array."""
    return np.array(values, np.int64)


UNARY_OPERATORS = [
    *("Abs", "Atan", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid"),
    *("HardSwish", "Identity", "LeakyRelu", "LogSoftmax", "Mish", "Neg", "Reciprocal"),
    *("Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softmax"),
    *("Softplus", "Softsign", "Tanh", "ThresholdedRelu", "Celu", "Gelu", "IsNaN"),
    *("Asinh", "Cosh", "Tan", "IsInf", "Dropout"),
]
INPUTS_OF_BOUNDED_OPERATORS = {
    "Acos": INPUT_ROWS / 10,
    "Acosh": 1 + INPUT_ROWS**2,
    "Asin": INPUT_ROWS / 10,
    "Atanh": INPUT_ROWS / 10,
    "Log": 1 + INPUT_ROWS**2,
    "Sqrt": INPUT_ROWS**2,
}
TWO_FLOAT_INPUTS = {"x": INPUT_ROWS, "z": floats(3, 1, seed=1)}
TWO_INTEGER_INPUTS = {"x": INTEGER_ARRAY, "z": integers(2, -3, 4)}

ELEMENTWISE_CASES = [
    *(one(operator) for operator in UNARY_OPERATORS),
    *(
        one(operator, given={"x": values})
        for operator, values in INPUTS_OF_BOUNDED_OPERATORS.items()
    ),
    *(
        one(operator, "x z", given=TWO_FLOAT_INPUTS)
        for operator in ("Add", "Sub", "Mul", "Div", "Max")
    ),
    *(
        one(operator, "x z", given=TWO_FLOAT_INPUTS)
        for operator in ("Min", "Mean", "Sum", "Equal")
    ),
    *(
        one(operator, "x z", given=TWO_FLOAT_INPUTS)
        for operator in ("Less", "LessOrEqual", "Greater")
    ),
    one("GreaterOrEqual", "x z", given=TWO_FLOAT_INPUTS),
    *(
        one(it, "x z", given=TWO_INTEGER_INPUTS, name="integers")
        for it in ("Add", "Sub", "Mul", "Div")
    ),
    one("Mod", "x z", given=TWO_INTEGER_INPUTS, name="integers"),
    one("Mod", "x z", given=TWO_INTEGER_INPUTS, fmod=1),
    one(
        "Mod",
        "x z",
        given={"x": INPUT_ROWS, "z": np.array([0.7], "float32")},
        fmod=1,
        name="floats",
    ),
    *(
        one(it, "x z", given={"x": BOOLEAN_ARRAY, "z": BOOLEAN_ARRAY[::-1].copy()})
        for it in ("And", "Or")
    ),
    one("Xor", "x z", given={"x": BOOLEAN_ARRAY, "z": BOOLEAN_ARRAY[::-1].copy()}),
    one("Not", given={"x": BOOLEAN_ARRAY}),
    *(
        one(
            "Pow",
            "x z",
            given={"x": np.abs(INPUT_ROWS)},
            weights={"z": np.float32(exponent)},
            name=str(exponent),
        )
        for exponent in (2, 0.5, 1.7, -1)
    ),
    one(
        "Pow",
        "x z",
        given={"x": INPUT_ROWS},
        weights={"z": np.int64(3)},
        name="by an integer",
    ),
    one("Gelu", approximate="tanh"),
    one("Elu", alpha=0.3),
    one("LeakyRelu", alpha=0.2),
    one("Celu", alpha=2.0),
    one("Selu", alpha=1.1, gamma=1.3),
    one("HardSigmoid", alpha=0.3, beta=0.4),
    one("PRelu", "x s", weights={"s": floats(3, 1, seed=2)}),
    one("Clip", "x a b", weights={"a": np.float32(-0.5), "b": np.float32(0.4)}),
    one("Clip", "x - b", weights={"b": np.float32(0.4)}, name="above"),
    one("Clip", opset=7, min=-0.3, max=0.2),
    one("IsInf", given={"x": np.array([np.inf, 1, -np.inf], "float32")}, detect_negative=0),
    one("Where", "c x z", given={"c": INPUT_ROWS[:, :1] > 0, **TWO_FLOAT_INPUTS}),
    one(
        "Where",
        "c a b",
        given={"c": INPUT_ROWS > 0},
        weights={"a": np.float32(1), "b": np.float32(2)},
        name="of numbers",
    ),
    *(one("Cast", to=kind) for kind in (7, 9, 11, 6)),
    one("Cast", given={"x": INTEGER_ARRAY}, to=FLOAT, name="of integers"),
    one("CastLike", "x z", given={"x": INPUT_ROWS, "z": INTEGER_ARRAY}),
    one("Softmax", axis=1),
    one("Softmax", opset=11, axis=1),
    one("LogSoftmax", opset=9),
]

REDUCTION_CASES = [
    *(
        one(
            f"Reduce{kind}",
            opset=11,
            axes=[1],
            keepdims=0,
            given={"x": np.abs(INPUT_ROWS) + 1},
        )
        for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod")
    ),
    one("ReduceSumSquare", opset=11, axes=[-1]),
    one("ReduceSum", opset=11, axes=[0, 2]),
    one("ReduceSum", "x a", weights={"a": integers(1)}, keepdims=0),
    one("ReduceMean", "x a", weights={"a": integers(-1, 1)}),
    one("ReduceMean", name="over all"),
    one("ReduceSum", noop_with_empty_axes=1),
    one("ReduceSum", given={"x": INTEGER_ARRAY.astype(np.int32)}, name="of int32"),
    *(one("ArgMax", axis=axis, keepdims=keep) for axis in (0, -1) for keep in (0, 1)),
    one("ArgMin", axis=1),
    one("ArgMax", given={"x": np.round(INPUT_ROWS)}, axis=2, select_last_index=1),
    *(
        one("CumSum", "x a", weights={"a": np.int64(2)}, exclusive=alone, reverse=turned)
        for alone in (0, 1)
        for turned in (0, 1)
    ),
    Case(
        "TopK",
        [node("TopK", "x k", ("y", "i"))],
        {"x": INPUT_ROWS},
        {"k": integers(3)},
        21,
        ("y", "i"),
    ),
    Case(
        "TopK smallest",
        [node("TopK", "x k", ("y", "i"), axis=1, largest=0)],
        {"x": INPUT_ROWS},
        {"k": integers(2)},
        21,
        ("y", "i"),
    ),
]

SHAPE_CASES = [
    one("Reshape", "x s", weights={"s": integers(0, -1, 5)}),
    one("Flatten", axis=2),
    one("Flatten", axis=-1),
    one("Flatten", axis=0),
    one("Transpose"),
    one("Transpose", perm=[2, 0, 1]),
    one("Squeeze", opset=11, given={"x": INPUT_ROWS[:, :1]}, axes=[1]),
    one("Squeeze", "x a", given={"x": INPUT_ROWS[:, :1]}, weights={"a": integers(-2)}),
    one("Unsqueeze", opset=11, axes=[0, 2]),
    one("Unsqueeze", "x a", weights={"a": integers(-1, 1)}),
    one("Expand", "x s", given={"x": INPUT_ROWS[:, :1]}, weights={"s": integers(2, 3, 1)}),
    one("Tile", "x s", weights={"s": integers(2, 1, 3)}),
    one("Concat", "x x x", axis=-1),
    Case(
        "Split even",
        [node("Split", "x", ("a", "b"), axis=2)],
        {"x": INPUT_ROWS},
        {},
        11,
        ("a", "b"),
    ),
    Case(
        "Split by an input",
        [node("Split", "x s", ("a", "b"), axis=2)],
        {"x": INPUT_ROWS},
        {"s": integers(3, 7)},
        21,
        ("a", "b"),
    ),
    Case(
        "Split into uneven parts",
        [node("Split", "x", ("a", "b", "c"), axis=2, num_outputs=3)],
        {"x": INPUT_ROWS},
        {},
        21,
        ("a", "b", "c"),
    ),
    one("Pad", opset=7, pads=[0, 0, 1, 0, 0, 2], value=0.5),
    one("Pad", "x p v", weights={"p": integers(0, 1, 0, 0, 0, 2), "v": np.float32(2)}),
    one("Pad", "x p", weights={"p": integers(0, 0, -1, 0, 0, -2)}, name="cuts"),
    *(
        one("Pad", "x p", weights={"p": integers(0, 0, 2, 0, 0, 3)}, mode=mode)
        for mode in ("reflect", "edge", "wrap")
    ),
    one(
        "Pad",
        "x p - a",
        weights={"p": integers(1, 2), "a": integers(-1)},
        name="of one axis",
    ),
    Case("Shape of a part", [node("Shape", "x", start=1, end=-1)], {"x": INPUT_ROWS}),
    Case("Size", [node("Size", "x")], {"x": INPUT_ROWS}),
    Case(
        "positions from 0 on",
        [
            node("Shape", "x", ("s",)),
            node("Gather", "s i", ("n",)),
            node("Range", "zero n one", ("r",)),
            node("Cast", "r", ("f",), to=FLOAT),
            node("Add", "x f"),
        ],
        {"x": INPUT_ROWS},
        {"i": np.int64(2), "zero": np.int64(0), "one": np.int64(1)},
    ),
    Case(
        "ConstantOfShape",
        [
            node("Shape", "x", ("s",)),
            node("ConstantOfShape", "s", ("c",)),
            node("Add", "x c"),
        ],
        {"x": INPUT_ROWS},
    ),
    Case(
        "NonZero of known numbers",
        [
            node("Shape", "x", ("s",)),
            node(
                "ConstantOfShape",
                "s",
                ("c",),
                value=helper.make_tensor("v", INT64, [1], [1]),
            ),
            node("NonZero", "c"),
        ],
        {"x": INPUT_ROWS},
    ),
    Case(
        "a shape that is computed from sizes",
        [
            node("Shape", "x", ("s",)),
            node("Gather", "s first", ("n",)),
            node("Unsqueeze", "n zero", ("u",)),
            node("Concat", "u rest", ("t",), axis=0),
            node("Reshape", "x t"),
        ],
        {"x": INPUT_ROWS},
        {"first": np.int64(0), "zero": integers(0), "rest": integers(-1, 3)},
    ),
    Case(
        "arithmetic of sizes",
        [
            node("Shape", "x", ("s",)),
            node("Div", "s two", ("h",)),
            node("Sub", "h one", ("m",)),
            node("Mul", "m two", ("e",)),
            node("Equal", "e zero", ("z",)),
            node("Where", "z one e", ("w",)),
            node("Slice", "x zeros w"),
        ],
        {"x": INPUT_ROWS},
        {
            "two": integers(2),
            "one": integers(1),
            "zero": integers(0),
            "zeros": integers(0, 0, 0),
        },
    ),
]

INDEXING_CASES = [
    one("Gather", "x i", weights={"i": integers(2, 0, -1)}, axis=2),
    one("Gather", "x i", weights={"i": np.int64(1)}, axis=1),
    one(
        "Gather",
        "x i",
        weights={"i": integers(1, 2).reshape(2, 1)},
        axis=2,
        name="by a table",
    ),
    one(
        "Gather", "w i", given={"i": integers([2, 0], [1, -1])}, weights={"w": floats(4, 5)}
    ),
    one(
        "Gather",
        "x i",
        given={"x": INPUT_ROWS, "i": integers([1, 0], [2, -1])},
        axis=1,
        name="by an input",
    ),
    one(
        "GatherElements",
        "x i",
        given={"x": INPUT_ROWS, "i": integers([[1, 0, -1]])},
        axis=2,
    ),
    one("GatherND", "x i", given={"x": INPUT_ROWS, "i": integers([0, 2], [1, -1])}),
    one("GatherND", "x i", given={"x": INPUT_ROWS, "i": integers([0], [2])}, batch_dims=1),
    one("Slice", opset=9, starts=[1, 2], ends=[3, 100], axes=[1, 2]),
    one("Slice", "x s e", weights={"s": integers(0, 1, -5), "e": integers(2, 3, -1)}),
    one(
        "Slice",
        "x s e a t",
        weights={
            "s": integers(-1),
            "e": integers(-(2**63) + 1),
            "a": integers(2),
            "t": integers(-1),
        },
        name="backwards",
    ),
    one(
        "Slice",
        "x s e a t",
        weights={"s": integers(8), "e": integers(1), "a": integers(2), "t": integers(-3)},
        name="backwards in steps",
    ),
    one(
        "Slice",
        "x s e a t",
        weights={"s": integers(1), "e": integers(9), "a": integers(2), "t": integers(3)},
        name="in steps",
    ),
    one("Slice", "x s e", weights={"s": integers(5), "e": integers(5)}, name="of nothing"),
    one(
        "OneHot",
        "x d v",
        given={"x": integers([1, -1], [0, 2])},
        weights={"d": np.int64(3), "v": np.array([0, 2], "float32")},
    ),
    one(
        "OneHot",
        "x d v",
        given={"x": integers([1, -1], [0, 2])},
        weights={"d": integers(4), "v": integers(0, 1)},
        axis=0,
    ),
    one("Trilu", "x k", given={"x": INPUT_IMAGES}, weights={"k": np.int64(1)}),
    one("Trilu", given={"x": INPUT_IMAGES}, upper=0),
]

PRODUCT_CASES = [
    one("MatMul", "x w", weights={"w": floats(10, 4)}),
    one("MatMul", "x w", weights={"w": floats(10)}, name="by a vector"),
    one("MatMul", "x z", given={"x": INPUT_ROWS, "z": floats(2, 10, 4)}, name="of batches"),
    one(
        "Gemm",
        "x w b",
        given={"x": INPUT_ROWS[0]},
        weights={"w": floats(10, 4), "b": floats(4)},
    ),
    one(
        "Gemm",
        "x w b",
        given={"x": INPUT_ROWS[0]},
        weights={"w": floats(4, 10), "b": floats(4)},
        transB=1,
    ),
    one(
        "Gemm",
        "x w b",
        given={"x": INPUT_ROWS[0].T.copy()},
        weights={"w": floats(4, 10), "b": floats(3, 1)},
        transA=1,
        transB=1,
        alpha=0.5,
        beta=2.0,
    ),
    one(
        "Gemm",
        "x w",
        given={"x": INPUT_ROWS[0]},
        weights={"w": floats(10, 4)},
        name="alone",
    ),
    one("Einsum", "x w", weights={"w": floats(3, 10)}, equation="bij,ij->bi"),
]

NORM_CASES = [
    *(
        one(
            "BatchNormalization",
            "x s b m v",
            given={"x": x},
            weights={
                "s": floats(3),
                "b": floats(3, seed=1),
                "m": floats(3, seed=2),
                "v": floats(3, seed=3) ** 2,
            },
            opset=opset,
            epsilon=1e-3,
            name=f"{x.ndim} axes",
        )
        for x, opset in (
            (INPUT_ROWS, 7),
            (INPUT_IMAGES, 15),
            (INPUT_ROWS[:, :, 0].copy(), 15),
        )
    ),
    one("InstanceNormalization", "x s b", weights={"s": floats(3), "b": floats(3, seed=1)}),
    one(
        "LayerNormalization",
        "x s b",
        weights={"s": floats(10), "b": floats(10, seed=1)},
        epsilon=1e-3,
    ),
    one("LayerNormalization", "x s", weights={"s": floats(3, 10)}, axis=1),
    one("LpNormalization", axis=1),
    one("LpNormalization", p=1),
    one(
        "GroupNormalization",
        "x s b",
        given={"x": floats(2, 6, 5)},
        weights={"s": floats(6), "b": floats(6, seed=1)},
        num_groups=3,
    ),
]

CONVOLUTION_WEIGHTS = {"w": floats(4, 3, 5, seed=1), "b": floats(4, seed=2)}
WINDOW_CASES = [
    one("Conv", "x w b", weights=CONVOLUTION_WEIGHTS),
    *(
        one("Conv", "x w b", weights=CONVOLUTION_WEIGHTS, pads=pads)
        for pads in ([2, 2], [1, 3])
    ),
    one(
        "Conv", "x w", weights=CONVOLUTION_WEIGHTS, strides=[2], dilations=[2], pads=[4, 4]
    ),
    *(
        one("Conv", "x w b", weights=CONVOLUTION_WEIGHTS, auto_pad=kind, strides=[step])
        for kind in ("SAME_UPPER", "SAME_LOWER", "VALID")
        for step in (1, 2, 3)
    ),
    one("Conv", "x w", weights={"w": floats(6, 1, 3)}, group=3),
    one(
        "Conv",
        "x w",
        given={"x": INPUT_IMAGES},
        weights={"w": floats(4, 3, 3, 2)},
        pads=[1, 0, 1, 1],
    ),
    one("ConvTranspose", "x w b", weights={"w": floats(3, 4, 5), "b": floats(4)}),
    one(
        "ConvTranspose",
        "x w b",
        weights={"w": floats(3, 2, 4), "b": floats(2)},
        strides=[2],
    ),
    one(
        "ConvTranspose",
        "x w b",
        weights={"w": floats(3, 2, 4), "b": floats(2)},
        strides=[2],
        pads=[1, 2],
        output_padding=[1],
    ),
    one(
        "ConvTranspose",
        "x w",
        weights={"w": floats(3, 2, 4)},
        strides=[2],
        output_shape=[19],
    ),
    *(
        one(
            "ConvTranspose",
            "x w",
            weights={"w": floats(3, 2, 3)},
            strides=[2],
            auto_pad=kind,
        )
        for kind in ("SAME_UPPER", "SAME_LOWER")
    ),
    one("ConvTranspose", "x w", weights={"w": floats(3, 2, 4)}, group=3, dilations=[2]),
    one(
        "ConvTranspose",
        "x w",
        given={"x": INPUT_IMAGES},
        weights={"w": floats(3, 2, 3, 2)},
        name="of images",
    ),
    *(
        one(pool, kernel_shape=[3], strides=[2], pads=pads, ceil_mode=ceil)
        for pool in ("MaxPool", "AveragePool")
        for pads in ([0, 0], [1, 1], [0, 2])
        for ceil in (0, 1)
    ),
    one("MaxPool", kernel_shape=[3], dilations=[2]),
    one("MaxPool", kernel_shape=[2], auto_pad="SAME_UPPER", strides=[3]),
    one("MaxPool", given={"x": INPUT_IMAGES}, kernel_shape=[2, 3], strides=[2, 1]),
    one("AveragePool", kernel_shape=[3], pads=[1, 1], count_include_pad=1),
    one("AveragePool", kernel_shape=[3], pads=[0, 2], count_include_pad=1),
    one("AveragePool", given={"x": INPUT_IMAGES}, kernel_shape=[2, 2], pads=[0, 0, 1, 1]),
    one("GlobalAveragePool"),
    one("GlobalMaxPool", given={"x": INPUT_IMAGES}),
]

INPUT_AND_POSITIONS = {"x": INPUT_ROWS, "p": integers(2, 1)}
BATCH_SIZE_NODES = [node("Shape", "x", ("s",)), node("Gather", "s zero", ("n",))]
RANGE_NODE = node("Range", "zero n one", ("r",))
RANGE_LIMITS = {"zero": np.int64(0), "one": np.int64(1), "three": np.int64(3)}
RECORD_SELECTION_CASES = [
    Case(
        "a position of each record among all rows",
        [
            *(
                *BATCH_SIZE_NODES,
                RANGE_NODE,
                node("Mul", "r three", ("b",)),
                node("Add", "p b", ("i",)),
            ),
            *(node("Flatten", "x", ("f",), axis=2), node("Gather", "f i")),
        ],
        INPUT_AND_POSITIONS,
        RANGE_LIMITS,
    ),
    Case(
        "a position of each record beside its number",
        [
            *(*BATCH_SIZE_NODES, RANGE_NODE, node("Unsqueeze", "r last", ("a",))),
            *(node("Unsqueeze", "p last", ("b",)), node("Concat", "a b", ("i",), axis=-1)),
            node("GatherND", "x i"),
        ],
        INPUT_AND_POSITIONS,
        {**RANGE_LIMITS, "last": integers(-1)},
    ),
    Case(
        "positions of other rows than those of each record",
        [
            *(
                *BATCH_SIZE_NODES,
                RANGE_NODE,
                node("Mul", "r three", ("b",)),
                node("Add", "p b", ("i",)),
            ),
            *(node("Reshape", "x t", ("f",)), node("Gather", "f i")),
        ],
        INPUT_AND_POSITIONS,
        {**RANGE_LIMITS, "t": integers(-1, 5)},
    ),
    Case(
        "positions and beginnings that are added alone",
        [*BATCH_SIZE_NODES, RANGE_NODE, node("Mul", "r three", ("b",)), node("Add", "b p")],
        INPUT_AND_POSITIONS,
        RANGE_LIMITS,
    ),
]
EMPTY_AXES = np.zeros(0, np.int64)
LIMITS_OF_INT8 = np.array([-7, 7, -7, 7, -128, -128, 127], np.int8)
RANDOM_DIVISORS = np.array([2, -2, -2, 2, 127, 2, -128], np.int8)
NUMBERS_WITH_INFINITY = np.array([1, np.inf, 2], np.float32)
ZERO_ROW = np.array([[0, 0], [-2, 3]], np.float32)
NUMBERS_WITH_TIES = np.array([1, 2, 2, 1, 2, 1, 0, 0], np.float32)


def top(name, x, count, **attributes):
    """Return a TopK file with both outputs."""
    nodes = [node("TopK", "x k", ("y", "i"), **attributes)]
    return Case(f"TopK of {name}", nodes, {"x": x}, {"k": integers(count)}, 21, ("y", "i"))


# Cases with zeros, infinities, ties, integer limits, and axes of length 0.
INTEGER_PADDINGS: list[dict[str, Any]] = [
    {"pads": [0, 2]},
    {"auto_pad": "SAME_UPPER", "strides": [2]},
]
EDGE_CASES = [
    *(one("LpNormalization", given={"x": ZERO_ROW}, p=p, name="zeros") for p in (1, 2)),
    *(
        one(
            "CumSum",
            "x a",
            given={"x": NUMBERS_WITH_INFINITY},
            weights={"a": np.int64(-1)},
            exclusive=1,
            reverse=turned,
            name="infinite",
        )
        for turned in (0, 1)
    ),
    *(
        one(
            f"Reduce{kind}",
            "x a",
            given={"x": np.abs(INPUT_ROWS) + 1},
            weights={"a": EMPTY_AXES},
            noop_with_empty_axes=1,
            name="without axes",
        )
        for kind in (
            *("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum"),
            "SumSquare",
        )
    ),
    one(
        "ReduceL1",
        given={"x": INPUT_ROWS},
        noop_with_empty_axes=1,
        name="of negative numbers",
    ),
    one("ReduceSumSquare", "x a", weights={"a": EMPTY_AXES}, name="over all axes"),
    *(
        one(
            f"Reduce{kind}",
            "x a",
            given={"x": np.zeros((2, 0, 3), dtype)},
            weights={"a": integers(1)},
            name=f"of nothing in {dtype}",
        )
        for kind in ("Max", "Min", "Sum", "Prod")
        for dtype in ("float32", "int32")
    ),
    *(
        top(f"ties, largest={largest}", NUMBERS_WITH_TIES, 6, largest=largest)
        for largest in (0, 1)
    ),
    top("a half", np.repeat(NUMBERS_WITH_TIES, 40).reshape(4, 80), 30),
    *(
        top(f"the limits of {dtype}", values, 5, largest=0)
        for dtype in ("uint8", "int8", "int32", "int64")
        for low, high in [(np.iinfo(dtype).min, np.iinfo(dtype).max)]
        for values in [np.array([low, 3, high, 3, 0, high, low], dtype)]
    ),
    top("NaN", np.array([1, np.nan, 2, np.nan, 0], np.float32), 4, largest=0),
    one(
        "Pow",
        "x z",
        given={"x": np.array([2, 3, 4], np.int32)},
        weights={"z": np.array([0.5, 1.5, -1], np.float32)},
        name="of integers by floats",
    ),
    one(
        "Pow",
        "x z",
        given={"x": np.array([2, 3, 4], np.int32)},
        weights={"z": np.float32(0.5)},
        name="of integers by a half",
    ),
    *(
        one(
            "MaxPool",
            given={"x": -np.arange(1, 11, dtype=np.int8).reshape(1, 1, 10)},
            kernel_shape=[3],
            name="of int8",
            **padding,
        )
        for padding in INTEGER_PADDINGS
    ),
    one("Relu", given={"x": np.array([-128, 127, 0], np.int8)}, name="of int8"),
    one("Div", "x z", given={"x": LIMITS_OF_INT8, "z": RANDOM_DIVISORS}, name="of int8"),
    one(
        "Mod",
        "x z",
        given={"x": LIMITS_OF_INT8, "z": RANDOM_DIVISORS},
        name="of int8",
        fmod=1,
    ),
    one(
        "Gemm",
        "x w b",
        given={"x": INPUT_ROWS[0]},
        weights={"w": INPUT_ROWS[0].T.copy(), "b": np.float32(np.nan)},
        beta=0.0,
    ),
]
NUMBERS_BEYOND_FLOAT8 = np.array(
    [0, np.nan, np.inf, -np.inf, 1e6, -1e6, 448, 470, 60000], np.float32
)
# Operators that ONNX Runtime does not support. The reference implementation of ONNX
# computes the expected results.
FUNCTION_OPERATOR_CASES = [
    one(
        "GroupNormalization",
        "x s b",
        given={"x": floats(2, 6, 5)},
        weights={"s": floats(3), "b": floats(3, seed=1)},
        opset=18,
        num_groups=3,
    ),
    one("RMSNormalization", "x s", weights={"s": floats(10)}, opset=23),
    one("Swish", opset=24, alpha=1.5),
    one("Swish", opset=24),
    *(
        one(
            "Cast",
            given={"x": NUMBERS_BEYOND_FLOAT8},
            to=kind,
            saturate=limited,
            name="beyond",
        )
        for kind, limited in ((17, 0), (17, 1), (19, 0), (19, 1))
    ),
    *(
        one("Cast", given={"x": NUMBERS_BEYOND_FLOAT8}, to=kind, saturate=0)
        for kind in (18, 20)
    ),
    one(
        "CastLike",
        "x z",
        given={"x": NUMBERS_BEYOND_FLOAT8, "z": np.zeros(1, ml_dtypes.float8_e4m3fn)},
    ),
]

SINGLE_OPERATOR_CASES = [
    *(
        *ELEMENTWISE_CASES,
        *REDUCTION_CASES,
        *SHAPE_CASES,
        *INDEXING_CASES,
        *PRODUCT_CASES,
        *NORM_CASES,
        *WINDOW_CASES,
    ),
    *RECORD_SELECTION_CASES,
]
