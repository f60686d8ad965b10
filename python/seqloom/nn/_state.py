"""Puts the state in a record into a module, and says what of it fits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from seqloom.errors import ArgumentError, RecordError
from seqloom.nn._hidden import require_all_visible
from seqloom.nn._initialisers import cast_array, kind_of
from seqloom.nn._parts import is_module, list_modules
from seqloom.nn._stored import Stored
from seqloom.record import LazyArray, Record
from seqloom.record._array import to_numpy
from seqloom.record._keys import rename
from seqloom.tensor import Tensor
from seqloom.tensor._elements import explain_misfit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from seqloom.nn._parts import HasParts
    from seqloom.record._keys import KeyMap
    from seqloom.tensor._backend import Array, Backend


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What `Module.load_record` did with each path.

    Attributes:
        applied: Paths of the module that were set.
        missing: Paths of the module that the record lacks; they keep their values.
        unused: Paths of the record that the module lacks.
        misshapen: Paths with the shape in the record and the shape in the module.
        converted: Paths with the dtype in the record and the dtype in the module.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
        >>> print(layer.load_record({"bias": [0.5]}, strict=False).load_report)
        1 applied, 1 missing (weight), 1 converted (bias: float64 to float32)
    """

    applied: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    misshapen: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = field(
        default_factory=dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
    )
    converted: dict[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )

    def __str__(self) -> str:
        changes = [f"{path}: {old} to {new}" for path, (old, new) in self.converted.items()]
        shapes = [
            f"{path}: {old}, not {new}" for path, (old, new) in self.misshapen.items()
        ]
        groups = {
            "missing": self.missing,
            "unused": self.unused,
            "misshapen": shapes,
            "converted": changes,
        }
        parts = [
            f"{len(names)} {group} ({', '.join(names)})"
            for group, names in groups.items()
            if names
        ]
        return ", ".join([f"{len(self.applied)} applied", *parts])


class _New(NamedTuple):
    """A new array of a part, and whether somebody else reads it."""

    array: Array
    is_shared: bool = False


# Numbers that are converted together.
_PIECE = 1 << 18

# The last report of each module: a field of it would be part of its compiled programs.
_reports: WeakKeyDictionary[HasParts, LoadReport] = WeakKeyDictionary()


def find_report(module: HasParts) -> LoadReport | None:
    """Return the report of the last record that a module loaded."""
    return _reports.get(module)


def collect_by_path(module: HasParts) -> dict[str, Stored]:
    """Return parameters and buffers; refuses a path that a record would have twice."""
    parts: dict[str, Stored] = {}
    for path, part in module.named(Stored):
        if path in parts:
            raise ArgumentError(
                f"{type(module).__name__} has two parts with the path {path!r}, of which a "
                "record would keep one; rename one of them (the keys 1 and '1' of a dict, "
                "or a dot in a key, make equal paths)"
            )
        parts[path] = part
    return parts


def make_record(module: HasParts) -> Record:
    """Return a record that shares the arrays of a module: its next step copies them."""
    require_all_visible(list_modules(module))
    own = list_own_records(module)
    parts = {
        path: part
        for path, part in collect_by_path(module).items()
        if part.is_recorded and not _is_below(path, own)
    }
    least = {path: getattr(part, "least_dtype", None) for path, part in parts.items()}
    arrays = {
        path: hold(path, part.share(), part.bound_backend) for path, part in parts.items()
    }
    for prefix, part in own.items():
        record = part.to_record()
        arrays |= {f"{prefix}.{name}": item for name, item in record.items()}
        known = getattr(record, "least_dtypes", {})
        least |= {f"{prefix}.{name}": dtype for name, dtype in known.items()}
    return Record(
        arrays,
        least_dtypes={path: dtype for path, dtype in least.items() if dtype is not None},
    )


def list_own_records(module: HasParts) -> dict[str, Any]:
    """Return the outermost parts, by path, whose class makes or load its own record."""
    found: dict[str, Any] = {}
    for path, part in module.named():
        if not is_module(part) or _is_below(path, found):
            continue
        # A user's class that defines one of the two methods.
        owners = (part.to_record.__module__, part.load_record.__module__)
        if not all(owner.startswith("seqloom.") for owner in owners):
            found[path] = part
    return found


def _is_below(path: str, prefixes: Iterable[str]) -> bool:
    """Return True for a path within one of the parts."""
    return any(path.startswith(f"{prefix}.") for prefix in prefixes)


def hold(path: str, array: Array, backend: Backend) -> Any:
    """Return an array for a record: a view that cannot be written, or a lazy array."""
    if backend.device == "cpu":
        return Tensor(array, backend).numpy()
    # Copied from the device when it is written or read.
    return LazyArray(
        str(backend),
        path,
        tuple(array.shape),
        backend.dtype(array),
        lambda: backend.to_numpy(array),
    )


def load_state(
    module: HasParts, record: Mapping[str, Any], *, strict: bool, keys: KeyMap | None
) -> None:
    """Set the parts of a module from a record; changes nothing if it does not fit."""
    require_mapping(record)
    own = list_own_records(module)
    parts = {
        p: part for p, part in collect_by_path(module).items() if not _is_below(p, own)
    }
    values = {
        path: value if isinstance(value, LazyArray) else to_numpy(path, value)
        for path, value in rename(record, keys).items()
    }
    of_own = {path: values.pop(path) for path in list(values) if _is_below(path, own)}
    report, misfits = _compare(parts, values)
    problems = [*_list_problems(report, parts), *misfits] if strict else misfits
    # One array after the other is read, converted and checked before any is set.
    found: dict[str, _New | None] = {}
    for path in report.applied if not problems else ():
        found[path] = _convert(parts[path], values.pop(path), problems)
    if problems:
        raise RecordError(
            f"the record does not fit {type(module).__name__}: " + "; ".join(problems)
        )
    for prefix, part in own.items():
        start = len(prefix) + 1
        inner = {path[start:]: of_own[path] for path in of_own if _is_below(path, [prefix])}
        part.load_record(inner, strict=strict)
    for path, new in found.items():
        if new is not None:
            parts[path].put(new.array)
            parts[path].is_shared = new.is_shared
    _reports[module] = replace(report, applied=(*report.applied, *of_own))


def require_mapping(record: object) -> None:
    """Refuse a record that is not a mapping."""
    if isinstance(record, (str, bytes, PathLike)):
        raise ArgumentError(
            f"record must be a mapping of arrays by path, got the path of a file, "
            f"{record!r}; read the file first: load_record(sl.record.load(path))"
        )
    if not hasattr(record, "keys"):
        raise ArgumentError(
            "record must be a mapping of arrays by path, such as to_record() returns, got "
            f"a {type(record).__name__}"
        )


def _compare(
    parts: Mapping[str, Stored], values: Mapping[str, Any]
) -> tuple[LoadReport, list[str]]:
    """Return a report, and a phrase for each path whose type cannot fit."""
    common = {path: (values[path], parts[path]) for path in parts if path in values}
    fits = [path for path, (value, part) in common.items() if value.shape == part.shape]
    kinds = {path: (values[path].dtype, kind_of(parts[path].dtype)) for path in fits}
    report = LoadReport(
        applied=tuple(fits),
        missing=tuple(path for path in parts if path not in values),
        unused=tuple(path for path in values if path not in parts),
        misshapen={
            path: (value.shape, part.shape)
            for path, (value, part) in common.items()
            if value.shape != part.shape
        },
        converted={
            path: (str(old), str(new)) for path, (old, new) in kinds.items() if old != new
        },
    )
    misfits = [
        f"{path} {problem}"
        for path, (old, new) in kinds.items()
        if (problem := explain_misfit(np.zeros((), old), new))
    ]
    return report, misfits


def _list_problems(report: LoadReport, parts: Mapping[str, Stored]) -> list[str]:
    """Return a phrase for each path that keeps a record from fitting."""
    return [
        *(
            f"{path} has shape {found}, expected {expected}"
            for path, (found, expected) in report.misshapen.items()
        ),
        *(
            f"{path} is missing"
            for path in report.missing
            if parts[path].is_recorded and not getattr(parts[path], "is_optional", False)
        ),
        *(f"{path} is not in the module" for path in report.unused),
    ]


def _convert(part: Stored, value: Any, problems: list[str]) -> _New | None:
    """Return a new array of a part's type and backend; None where the numbers misfit."""
    array = np.asarray(value)
    kind = kind_of(part.dtype)
    is_lazy = isinstance(value, LazyArray)
    if array.dtype == kind and is_lazy:
        # Nobody else has it, or it is a view of a file, which a writer copies first.
        is_view = not array.flags.writeable
        is_kept = is_view and part.bound_backend.name == "numpy" and array.flags.aligned
        plain = array if is_kept or not is_view else array.copy()
        return _New(_adopt(part, _in_order(plain)), is_shared=is_kept)
    plain = np.empty(array.shape, kind)
    _fill(part, plain, array, problems)
    return None if problems else _New(_adopt(part, plain))


def _adopt(part: Stored, plain: NDArray[np.generic]) -> Array:
    """Return an array of a part's backend, which may share the memory."""
    backend = part.bound_backend
    return cast_array(backend, backend.asarray(plain), part.dtype)


def _fill(
    part: Stored, out: NDArray[np.generic], array: NDArray[np.generic], problems: list[str]
) -> None:
    """Convert numbers piece by piece; adds a phrase for those that the type lacks."""
    flat, source = out.reshape(-1), _in_order(array).reshape(-1)
    for start in range(0, flat.size, _PIECE):
        piece = source[start : start + _PIECE]
        if problem := explain_misfit(piece, flat.dtype):
            problems.append(f"{part.path} {problem}")
            return
        flat[start : start + _PIECE] = piece.astype(flat.dtype)


def _in_order(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return an array in C order; ascontiguousarray adds an axis to one without axes."""
    return np.ascontiguousarray(array).reshape(array.shape)
