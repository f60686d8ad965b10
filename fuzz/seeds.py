"""Write the graphs from which fuzzing of exported models starts.

Each graph contains an operation, a layer or a small network; in some graphs one value is
wrong.

    PYTHONPATH=tests python -m fuzz.seeds target/fuzz/corpus/export

The calls, layers and networks come from the tests of exports. These tests need PyTorch.
The variable CONFORMANCE_SAMPLES is the number of samples of each operation and dtype
(default 3; 0 for all). Run `fuzz/keep export` afterwards to remove each graph that
reaches no additional code.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from hashlib import sha1
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

import seqloom as sl
from conformance.operations import OPERATION_TABLE
from export.test_layers import LAYERS_WITH_OTHER_INPUTS, Each
from export.test_operations import TESTED_OPERATIONS, list_calls
from exported_networks import (
    NETWORKS_OF_ANY_LENGTH,
    NETWORKS_OF_SOME_LENGTHS,
    Recurrent,
    Tokens,
    ready,
)
from native_calls import NUMPY, make_graph
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Iterator

Graph = dict[str, Any]
WHOLE, ROWS = np.arange(6).reshape(2, 3), np.arange(6, dtype="f4").reshape(2, 3)
DTYPES = ("bool", "uint8", "uint32", "int32", "int64", "float32", "float64")
STATES, WEIGHTS = ROWS[:1, :2], np.ones((8, 3), "f4")
# Calls that the samples of PyTorch do not contain.
EXTRA_CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("all", (ROWS[:0],), {"axis": 0}),
    ("arange", (0.0, 2.0, 0.5), {"dtype": "float32"}),
    ("arange", (0.0, 2.0, 0.5), {"dtype": "float64"}),
    ("arange", (0.0, 2.0, 0.5), {"dtype": "int32"}),
    ("astype", (WHOLE, np.dtype("uint32")), {}),
    ("astype", (WHOLE, np.dtype("uint8")), {}),
    ("astype", (WHOLE.astype("u4"), np.dtype("int64")), {}),
    ("astype", (WHOLE.astype("i4"), np.dtype("int64")), {}),
    ("clip", (WHOLE, 1, 2), {}),
    ("clip", (WHOLE, 2**60, None), {}),
    ("conv1d_input_grad", (ROWS[None], ROWS[:, None, :2], (1, 1, 4)), {}),
    ("cumulative_sum", (WHOLE,), {"axis": 1, "include_initial": True}),
    ("cumulative_sum", (ROWS.astype("f8"),), {"axis": 0}),
    ("erfc", (ROWS,), {}),
    ("full", ((2, 3), 2), {}),
    ("full", ((2, 3), np.ones(3)), {}),
    (
        "gru",
        (ROWS[None], STATES, WEIGHTS[:6], WEIGHTS[:6, :2]),
        {"mask": WHOLE[:1, :2] < 1},
    ),
    ("hypot", (ROWS, 0.5), {}),
    ("linear", (WHOLE, WHOLE, WHOLE[:, 0]), {}),
    ("linear_by_row", (ROWS[:0], ROWS), {"residual": ROWS[:0, :2]}),
    ("lstm", (ROWS[None], STATES, STATES, WEIGHTS, WEIGHTS[:, :2]), {"reverse": True}),
    ("one_hot", (WHOLE, 6), {}),
    ("pad", (ROWS, ((1, -1), (0, 2))), {"value": 0.5}),
    ("pad", (WHOLE, ((0, 1), (1, 0))), {"value": 7}),
    ("pow", (ROWS, 0.5), {}),
    ("pow", (ROWS, 3.0), {}),
    ("pow", (WHOLE, 3), {}),
    ("prod", (WHOLE,), {}),
    ("reshape", (ROWS, (-1, 2)), {}),
    ("roll", (ROWS, (1, 2)), {"axis": (0, 1)}),
    ("softplus", (ROWS,), {}),
    ("subtract", (WHOLE, 2**60), {}),
    ("where", (WHOLE > 1, WHOLE, 3), {}),
    ("where", (ROWS > 1, 0.5, 3), {}),
]
# Reductions of arrays with gaps, and of long axes.
EXPRESSIONS: list[Any] = [
    lambda x: x[:, ::2, ::3].sum(axis=(1, 2)),
    lambda x: x[:, :, ::2].sum(axis=2),
    lambda x: x[:, 0, ::2].max(axis=1),
    lambda x: x.permute_dims((2, 0, 1))[::2].sum(axis=(0, 2)),
    lambda x: _repeat(x, 600)[..., ::2].sum(axis=3),
    lambda x: _repeat(x, 99).sum(axis=(2, 3)),
]
# Wrong values that replace a value of a graph.
WRONG_VALUES: tuple[Any, ...] = (
    None,
    "conjure",
    -7,
    2**63,
    2**64,
    [1, "a"],
    {"value": 99},
    {"size": ["batch"], "times": 2**62, "over": 0},
    {"size": ["none"], "times": 2**62, "plus": 2**62},
    {"size": [2**62, 2**62, 2**62]},
    {"slice": [None, None, 0]},
    {"float": "nan"},
)
# For each operation, every value of the first graph below 4 KiB is replaced.
CHANGED_OPERATIONS = (
    "attention_varlen concat conv2d index lstm max_pool1d pad rotary_linear take tensordot"
)
# Maximal size of an input in bytes; fuzz/run truncates longer inputs.
MAX_INPUT_BYTES = 16_384


def main(folder: Path) -> None:
    """Write the graphs into a folder; the name of each file is its hash."""
    folder.mkdir(parents=True, exist_ok=True)
    left = set(CHANGED_OPERATIONS.split())
    for graph in chain(
        _network_graphs(), _layer_graphs(), _call_graphs(), _operation_graphs()
    ):
        _write_graph(folder, graph)
        found = left & {operation["name"] for operation in graph["operations"]}
        if found and len(json.dumps(graph)) < MAX_INPUT_BYTES // 4:
            left -= found
            for changed in _replace_values(graph):
                _write_graph(folder, changed)
    print(f"{len(list(folder.iterdir()))} graphs are in {folder}; not changed: {left or 0}")


def _write_graph(folder: Path, graph: Graph) -> None:
    """Write a graph, unless it exceeds the maximum size of an input."""
    text = json.dumps(graph, separators=(",", ":")).encode()
    if len(text) <= MAX_INPUT_BYTES:
        (folder / sha1(text, usedforsecurity=False).hexdigest()).write_bytes(text)


def _operation_graphs() -> Iterator[Graph]:
    """Yield graphs of one operation, for the samples of PyTorch."""
    for name in TESTED_OPERATIONS:
        for dtype in OPERATION_TABLE[name].dtypes:
            for call in list_calls(name, dtype):
                yield make_graph(name, *call)[0]


def _call_graphs() -> Iterator[Graph]:
    """Yield graphs of `EXTRA_CALLS`, and of functions of one or two arrays of each type."""
    for name, args, options in EXTRA_CALLS:
        made = getattr(NUMPY, name)(*args, **options)
        yield make_graph(name, args, options, made if isinstance(made, tuple) else [made])[
            0
        ]
    for name, dtype, count in product(TESTED_OPERATIONS, DTYPES, (1, 2)):
        args = (WHOLE.astype(dtype),) * count
        made = None
        with suppress(Exception):  # most functions need other arguments
            made = getattr(NUMPY, name)(*args)
        if made is not None and made.dtype.name in DTYPES:
            yield make_graph(name, args, {}, [made])[0]


def _replace_values(graph: Graph) -> Iterator[Graph]:
    """Yield the graph with one value replaced, for each value and each wrong value."""
    for holder, key in list(_list_positions(graph)):
        original = holder[key]
        for wrong in WRONG_VALUES:
            holder[key] = wrong
            yield graph
        holder[key] = original


def _list_positions(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container within a value, with each of its keys or positions."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _list_positions(value[key])


def _layer_graphs() -> Iterator[Graph]:
    """Yield graphs of one layer, for inputs of any length and of a fixed length."""
    for free, fixed, layers in LAYERS_WITH_OTHER_INPUTS.values():
        for make in layers.values():
            yield from _exported_graphs(ready(Each([make()])), inputs=fixed)
            # Some layers cannot be exported alone for any length, because they treat
            # short inputs differently.
            with suppress(sl.errors.ExportError):
                yield from _exported_graphs(ready(Each([make()])), inputs=free)


def _repeat(x: Any, count: int) -> Any:
    """Return an array with an additional axis, along which each number is repeated."""
    return apply("broadcast_to", x[:, :, :, None], (*x.shape, count))


class Expression(Each):
    """A layer that applies one of `EXPRESSIONS`."""

    def __init__(self, number: int) -> None:
        super().__init__([])
        self.number = number

    def list_parts(self, inputs: Any) -> list[Any]:
        """Return the result of the expression."""
        made = EXPRESSIONS[self.number](inputs * self.scale.value)
        return [made.reshape(made.shape[0], -1)]


class Last(Recurrent):
    """The last state of a recurrent network, read from all states."""

    def __call__(self, x: Any, mask: Any = None) -> Any:  # noqa: D102 - as every network
        states, _ = self.cells(x.permute_dims((0, 2, 1)))
        if mask is None:
            return self.head(states[:, -1])
        last = (mask.sum(axis=1) - 1).astype("int64").reshape(-1, 1, 1)
        last = apply("broadcast_to", last, (x.shape[0], 1, 12))
        return self.head(apply("take_along_axis", states, last, axis=1)[:, 0])


def _network_graphs() -> Iterator[Graph]:
    """Yield the graphs of networks over DNA, over tokens, and over packed tokens."""
    for make in chain(NETWORKS_OF_ANY_LENGTH.values(), NETWORKS_OF_SOME_LENGTHS.values()):
        yield from _exported_graphs(ready(make()), encoder=sl.encode.OneHot("dna"))
    yield from _exported_graphs(ready(Last()), encoder=sl.encode.OneHot("dna"))
    for number in range(len(EXPRESSIONS)):
        yield from _exported_graphs(ready(Expression(number)), inputs=("batch", 4, 30))
    yield from _exported_graphs(ready(Tokens()), encoder=sl.encode.Integer("dna"))
    esm2 = sl.models.ESM2Config(layers=1, width=8, heads=2).init("numpy").eval()
    yield from _exported_graphs(esm2, encoder=sl.encode.Tokens("esm2"), pool="mean")


def _exported_graphs(network: Any, **options: Any) -> Iterator[Graph]:
    """Yield the graphs of an exported network, without the lines of its source."""
    with TemporaryDirectory() as folder:
        sl.export.save(network, Path(folder) / "model", **options)
        for path in sorted(Path(folder).glob("model/graph*.json")):
            graph = json.loads(path.read_text("utf-8"))
            for operation in graph["operations"]:
                operation["line"] = ""
            yield graph


if __name__ == "__main__":
    main(Path(sys.argv[1]))
