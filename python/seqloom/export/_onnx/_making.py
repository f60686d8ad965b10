"""Arrays that are made of sizes, in ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.export._onnx._builder import refuse

if TYPE_CHECKING:
    from seqloom.export._onnx._builder import Builder
    from seqloom.export._onnx._elementwise import Write
    from seqloom.tensor._graph import Operation


def _write_range(b: Builder, operation: Operation) -> list[str]:
    """Writes arange, in wide integers, or in floats."""
    dtype = operation.outputs[0].dtype
    is_whole = all(not isinstance(it, float) for it in operation.args)
    wide = "int64" if is_whole else dtype
    found = b.node("Range", [b.get(it, wide) for it in operation.args])
    return [found if wide == str(dtype) else b.cast(found, dtype)]


def _write_value(value: int | None) -> Write:
    """Makes the function of zeros, ones or full."""

    def write(b: Builder, operation: Operation) -> list[str]:
        shape, *rest = operation.args
        filled: Any = rest[0] if value is None else value
        dtype = operation.outputs[0].dtype
        one = b.get(filled, dtype)
        return [b.node("Expand", [one, b.integers(list(shape))]) if shape else one]

    return write


def _write_eye(b: Builder, operation: Operation) -> list[str]:
    """Writes eye."""
    dtype = operation.outputs[0].dtype
    if dtype.kind == "b":
        raise refuse(operation, " of booleans")
    zero = b.constant(0, dtype)
    wide = b.node("Expand", [zero, b.integers(list(operation.args))])
    return [b.node("EyeLike", [wide], k=operation.options.get("k", 0))]


TABLE: dict[str, Write] = {
    "arange": _write_range,
    "eye": _write_eye,
    "full": _write_value(None),
    "ones": _write_value(1),
    "zeros": _write_value(0),
}
