"""Run one backend function as an exported model in Rust."""

import json
import math
from typing import Any

import numpy as np
from safetensors.numpy import save

import seqloom as sl
from seqloom._rust import _native
from seqloom.export._content import write_manifest
from seqloom.export._write import _pack_zip
from seqloom.infer._exported import MANIFEST

NUMPY: Any = sl.tensor.backend("numpy", num_threads=1)
TASK_DESCRIPTION = {
    "task": {"name": "custom", "columns": []},
    "batch_size": 1,
    "layout": "padded",
    "length": None,
    "crop": None,
    "pair": None,
    "pool": None,
}


def run_native(
    name: str,
    args: Any,
    options: Any,
    made: list[Any],
    threads: int = 1,
    memory_limit: int | None = None,
):
    """Return the result of the Rust code if the NumPy backend returns supported arrays."""
    graph, arrays = make_graph(name, args, options, made)
    files = {"graph.json": json.dumps(graph).encode(), "model.safetensors": save({})}
    zipped = _pack_zip({MANIFEST: write_manifest(dict(TASK_DESCRIPTION), files), **files})
    given = {f"in{n}": np.ascontiguousarray(it) for n, it in enumerate(arrays)}
    shaped = {key: it.reshape(arrays[int(key[2:])].shape) for key, it in given.items()}
    return _native.ExportedModel(zipped, memory_limit).run(shaped, threads)


def make_graph(
    name: str, args: Any, options: Any, made: list[Any]
) -> tuple[dict[str, Any], list[Any]]:
    """Return a graph of one operation, and its input arrays."""
    arrays: list[Any] = []
    graph = {
        "version": 1,
        "operations": [
            {
                "name": name,
                "args": [_argument(arg, arrays) for arg in args],
                "options": {key: _argument(it, arrays) for key, it in options.items()},
                "outputs": [_declare(1000 + n, it) for n, it in enumerate(made)],
                "line": "call.py:1",
            }
        ],
        "weights": [],
        "outputs": [{"name": str(n), "value": 1000 + n} for n in range(len(made))],
    }
    graph["inputs"] = [
        {"name": f"in{n}", **_declare(n, array)} for n, array in enumerate(arrays)
    ]
    return graph, arrays


def _declare(number: int, array: Any) -> dict[str, Any]:
    """Return a value with its dtype and shape."""
    array = np.asarray(array)
    return {"value": number, "dtype": str(array.dtype), "shape": list(array.shape)}


def _argument(arg: Any, arrays: list[Any]) -> Any:
    """Return an argument in the export format."""
    if isinstance(arg, (np.ndarray, np.generic)):
        arrays.append(np.asarray(arg))
        return {"value": len(arrays) - 1}
    if isinstance(arg, (list, tuple)):
        return [_argument(part, arrays) for part in arg]
    if isinstance(arg, (np.dtype, type)):
        return {"dtype": str(np.dtype(arg))}
    return _mark(arg)


def _mark(arg: Any) -> Any:
    """Return an element of an index key in the export format."""
    if isinstance(arg, slice):
        return {"slice": [arg.start, arg.stop, arg.step]}
    if arg is Ellipsis:
        return {"ellipsis": True}
    is_special = isinstance(arg, float) and not math.isfinite(arg)
    return {"float": str(arg)} if is_special else arg
