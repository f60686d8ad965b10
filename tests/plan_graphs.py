"""Graphs for compiler tests, and a slow interpreter of graphs in NumPy with float64."""

from __future__ import annotations

import numpy as np
from scipy import special

from seqloom.tensor._compile import Graph, Operation, Value

UNARY_OPERATIONS = [
    "negative",
    "abs",
    "square",
    "exp",
    "expm1",
    "tanh",
    "sigmoid",
    "relu",
    "gelu",
    "erf",
    "sin",
    "cos",
    "softplus",
    "silu",
    "floor",
    "ceil",
    "sign",
]
BINARY_OPERATIONS = [
    "add",
    "subtract",
    "multiply",
    "maximum",
    "minimum",
    "relu_grad",
    "gelu_grad",
    "sigmoid_grad",
]
FUNCTION_OF_OPERATION = {
    "sigmoid": special.expit,
    "erf": special.erf,
    "relu": lambda x: np.where(x > 0, x, 0),
    "gelu": lambda x: x * special.ndtr(x),
    "silu": lambda x: x * special.expit(x),
    "softplus": lambda x: np.logaddexp(x, 0),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "relu_grad": lambda grad, out: np.where(out > 0, grad, 0),
    "sigmoid_grad": lambda grad, out: grad * out * (1 - out),
    "gelu_grad": lambda grad, x: (
        grad * (special.ndtr(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi))
    ),
    "linear": lambda x, w, b=None: x @ w.T + (0 if b is None else b),
    "stop_gradient": lambda x: x,
    "index": lambda x, key: x[key],
    "astype": lambda x, dtype: np.asarray(x).astype(dtype),
}


def function(name):
    return FUNCTION_OF_OPERATION.get(name) or getattr(np, name)


class Building:
    """Records operations, and computes shapes and dtypes by running them on zeros."""

    def __init__(self, dtype="float64"):
        self.graph = Graph()
        self.dtype = np.dtype(dtype)
        self._count = 0

    def _value(self, shape, dtype, *, weak=False):
        self._count += 1
        return Value(self._count, tuple(shape), np.dtype(dtype), weak)

    def given(self, *shape, dtype=None, weak=False):
        value = self._value(shape, dtype or self.dtype, weak=weak)
        self.graph.inputs.append(value)
        return value

    def constant(self, array):
        value = self._value(array.shape, array.dtype)
        self.graph.constants[value.number] = array
        return value

    def __call__(self, name, *args, **options):
        with np.errstate(all="ignore"):
            tried = function(name)(*map(_tried, args), **options)
        found = np.asarray(tried).dtype  # scipy functions return wider types
        value = self._value(np.shape(tried), self.dtype if found.kind == "f" else found)
        self.graph.operations.append(Operation(name, args, options, (value,)))
        return value

    def returns(self, *values):
        self.graph.outputs = list(values)
        return self.graph


def _tried(arg):
    if not isinstance(arg, Value):
        return arg
    return 1.0 if arg.weak else np.ones(arg.shape, arg.dtype)


def slowly(graph, arrays):
    """Compute the outputs, one operation at a time."""
    known = {
        v.number: a for v, a in zip(graph.inputs, arrays, strict=True)
    } | graph.constants
    for operation in graph.operations:
        args = [known[a.number] if isinstance(a, Value) else a for a in operation.args]
        with np.errstate(all="ignore"):
            known[operation.outputs[0].number] = function(operation.name)(
                *args, **operation.options
            )
    return [known[value.number] for value in graph.outputs]


def random_group(seed, dtype):
    """Return a random graph of 2 to 20 elementwise ops and reductions, and its inputs."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(rng.choice([1, 2, 7, 64])) for _ in range(rng.integers(1, 4)))
    shape = (*shape[:-1], int(rng.choice([1, 8, 300, 1100])))
    build = Building(dtype)
    shapes = [shape, shape[-1:], (*shape[:-1], 1), (), shape]
    values = [build.given(*each) for each in shapes]
    arrays = [np.asarray(rng.normal(size=each), dtype) for each in shapes]
    for _ in range(rng.integers(2, 21)):
        name = str(rng.choice(UNARY_OPERATIONS + 3 * BINARY_OPERATIONS + 4 * ["where"]))
        picked = [values[int(rng.integers(len(values)))] for _ in range(2)]
        if name == "where":
            made = build("where", build("less", values[0], 0.25), *picked)
        else:
            made = build(name, *picked[: 1 if name in UNARY_OPERATIONS else 2])
        # Values stay bounded, so that errors do not grow from step to step.
        values.append(build("tanh", made) if name not in {"tanh", "sigmoid"} else made)
    full = build("add", values[-1], values[0])
    reduced = build("sum", full, axis=-1), build("max", full, axis=0), build("mean", full)
    return build.returns(full, values[-2], *reduced), arrays
