"""Precisions: the float types in which a recorder writes arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeGuard, cast

import ml_dtypes
import numpy as np

from seqloom.errors import ArgumentError
from seqloom.record._array import FLOAT_DTYPES, is_float

if TYPE_CHECKING:
    from collections.abc import Iterable


class Precision:
    """Base class of precisions: one float type for all float arrays.

    Attributes:
        dtype: Name of the float type.

    Examples:
        >>> import seqloom as sl
        >>> sl.record.Half().dtype
        dtype('float16')
    """

    dtype: ClassVar[np.dtype[Any]]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Full(Precision):
    """Precision that writes float arrays as float32.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> record = sl.record.Record({"x": np.ones(2, "f8"), "n": np.arange(2)})
        >>> record.save("x.safetensors", sl.record.Safetensors(precision=sl.record.Full()))
        >>> found = sl.record.load("x.safetensors")
        >>> found["x"].dtype, found["n"].dtype
        (dtype('float32'), dtype('int64'))
    """

    dtype = np.dtype("float32")


class Half(Precision):
    """Precision that writes float arrays as float16, whose largest number is 65504.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> half = sl.record.Safetensors(precision=sl.record.Half())
        >>> half.from_bytes(half.to_bytes(sl.record.Record({"x": np.ones(2)})))["x"].dtype
        dtype('float16')
    """

    dtype = np.dtype("float16")


class BFloat16(Precision):
    """Precision that writes float arrays as bfloat16.

    bfloat16 has the range of float32, but only 8 significant bits.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> brain = sl.record.Safetensors(precision=sl.record.BFloat16())
        >>> brain.from_bytes(brain.to_bytes(sl.record.Record({"x": np.ones(2)})))["x"].dtype
        dtype(bfloat16)
    """

    dtype = np.dtype(ml_dtypes.bfloat16)


class Double(Precision):
    """Precision that writes float arrays as float64.

    Examples:
        >>> import seqloom as sl
        >>> sl.record.Double().dtype
        dtype('float64')
    """

    dtype = np.dtype("float64")


# One precision for all arrays; or a dict of precisions by path pattern, where the last
# match applies; or a function of path and dtype. The function returns a new dtype, or
# None for no conversion.
PrecisionPolicy: TypeAlias = (
    Precision | Mapping[str, Precision] | Callable[[str, np.dtype[Any]], Any]
)


def require_precision(policy: object) -> None:
    """Raise if the argument `precision` is not a precision, a dict or a function."""
    if callable(policy) and not isinstance(policy, type):
        return
    table = cast("Mapping[str, object]", policy if isinstance(policy, Mapping) else {})
    if not isinstance(policy, Precision) and not (
        table and all(isinstance(each, Precision) for each in table.values())
    ):
        raise ArgumentError(
            "precision must be a precision such as sl.record.Half(), a dict of precisions "
            f"by path pattern, or a function of path and dtype. Got {policy!r}"
        )


def require_matches(policy: PrecisionPolicy | None, paths: Iterable[str]) -> None:
    """Raise if a pattern matches no path, because it may be misspelt."""
    known = list(paths)
    for pattern in policy if _is_precision_table(policy) else ():
        if not any(fnmatchcase(path, pattern) for path in known):
            raise ArgumentError(
                f"precision has the pattern {pattern!r}, which matches no path of the "
                f"record; its paths are {', '.join(known[:8])}"
            )


def choose_dtype(
    policy: PrecisionPolicy | None, path: str, dtype: np.dtype[Any], *, least: str | None
) -> np.dtype[Any]:
    """Return the dtype in which an array is written; only floats are converted."""
    if policy is None or not is_float(dtype):
        return dtype
    wanted = _pick_dtype(policy, path, dtype)
    if wanted not in FLOAT_DTYPES:
        raise ArgumentError(
            f"precision returned {wanted} for {path}, expected one of "
            f"{', '.join(map(str, FLOAT_DTYPES))}"
        )
    lowest = FLOAT_DTYPES[0] if least is None else _FLOATS_BY_NAME[least]
    return (
        wanted
        if wanted.itemsize >= lowest.itemsize
        else min(dtype, lowest, key=lambda each: each.itemsize)
    )


def _is_precision_table(policy: object) -> TypeGuard[Mapping[str, Precision]]:
    """Return whether the argument `precision` is a dict of precisions by pattern."""
    return isinstance(policy, Mapping)


def _pick_dtype(policy: PrecisionPolicy, path: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that the argument `precision` selects for a float array."""
    if isinstance(policy, Precision):
        return policy.dtype
    if _is_precision_table(policy):
        found = [each for pattern, each in policy.items() if fnmatchcase(path, pattern)]
        return found[-1].dtype if found else dtype
    answer = cast("Callable[..., object]", policy)(path, dtype)
    kind: Any = getattr(answer, "dtype", answer)
    return dtype if kind is None else np.dtype(_FLOATS_BY_NAME.get(kind, kind))


# NumPy resolves the name "bfloat16" only after ml_dtypes is imported.
_FLOATS_BY_NAME: dict[Any, np.dtype[Any]] = {str(dtype): dtype for dtype in FLOAT_DTYPES}
