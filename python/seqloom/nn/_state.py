"""Load a record into a module, and report missing, unknown and mismatched paths."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from seqloom.errors import ArgumentError, RecordError
from seqloom.nn._hidden_fields import recheck_hidden_params
from seqloom.nn._initialisers import cast_array, parse_dtype
from seqloom.nn._parameters import ModuleArray
from seqloom.nn._submodules import is_module, list_modules
from seqloom.record import LazyArray, Record
from seqloom.record._array import to_numpy
from seqloom.record._keys import rename_arrays
from seqloom.tensor import Tensor
from seqloom.tensor._elements import explain_misfit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from seqloom.nn._submodules import HasParts
    from seqloom.record._keys import KeyMap
    from seqloom.tensor._backend import Array, Backend


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Report of `Module.load_record`: the result for each path.

    Attributes:
        applied: Paths of the arrays that were loaded.
        missing: Paths of the module that are not in the record; their values are
            unchanged.
        unused: Paths of the record that are not in the module.
        misshapen: Paths whose shapes differ, with the shape in the record and the shape
            in the module.
        converted: Paths whose dtypes differ, with the dtype in the record and the dtype
            in the module.

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


class _LoadedArray(NamedTuple):
    """New array of a parameter; `is_shared` is True if other code also uses the array."""

    array: Array
    is_shared: bool = False


# Number of elements that are converted in one call.
_BLOCK_ELEMENTS = 1 << 18

# Last report of each module. Reports are not stored in fields, because all fields are
# in keys of compiled programs.
_load_reports: WeakKeyDictionary[HasParts, LoadReport] = WeakKeyDictionary()


def find_report(module: HasParts) -> LoadReport | None:
    """Return the report of the last record that was loaded into a module."""
    return _load_reports.get(module)


def collect_arrays(module: HasParts) -> dict[str, ModuleArray]:
    """Return parameters and buffers by path; raise if two arrays have the same path."""
    parts: dict[str, ModuleArray] = {}
    for path, part in module.named(ModuleArray):
        if path in parts:
            raise ArgumentError(
                f"{type(module).__name__} has two arrays or modules with path {path!r}, "
                "but a record can store only one. Rename one (the keys 1 and '1' of a "
                "dict, or a dot in a key, make equal paths)"
            )
        parts[path] = part
    return parts


def make_record(module: HasParts) -> Record:
    """Return a record that shares the module's arrays; the next step copies the arrays."""
    recheck_hidden_params(list_modules(module))
    custom = list_custom_records(module)
    parts = {
        path: part
        for path, part in collect_arrays(module).items()
        if part.is_recorded and not _is_inside(path, custom)
    }
    least = {path: getattr(part, "least_dtype", None) for path, part in parts.items()}
    arrays = {
        path: to_record_array(path, part.share(), part.bound_backend)
        for path, part in parts.items()
    }
    for prefix, part in custom.items():
        record = part.to_record()
        arrays |= {f"{prefix}.{name}": item for name, item in record.items()}
        known = getattr(record, "least_dtypes", {})
        least |= {f"{prefix}.{name}": dtype for name, dtype in known.items()}
    return Record(
        arrays,
        least_dtypes={path: dtype for path, dtype in least.items() if dtype is not None},
    )


def list_custom_records(module: HasParts) -> dict[str, Any]:
    """Return the outermost submodules whose class defines `to_record` or `load_record`."""
    found: dict[str, Any] = {}
    for path, part in module.named():
        if not is_module(part) or _is_inside(path, found):
            continue
        # The user's class defines `to_record` or `load_record`.
        owners = (part.to_record.__module__, part.load_record.__module__)
        if not all(owner.startswith("seqloom.") for owner in owners):
            found[path] = part
    return found


def _is_inside(path: str, prefixes: Iterable[str]) -> bool:
    """Return whether a path is within one of the submodules."""
    return any(path.startswith(f"{prefix}.") for prefix in prefixes)


def to_record_array(path: str, array: Array, backend: Backend) -> Any:
    """Return an array for a record: a read-only view, or a lazy array."""
    if backend.device == "cpu":
        return Tensor(array, backend).numpy()
    # The lazy array is copied from the device when it is read or saved.
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
    """Load a record into a module; do not change the module if the record does not fit."""
    require_mapping(record)
    custom = list_custom_records(module)
    parts = {
        p: part for p, part in collect_arrays(module).items() if not _is_inside(p, custom)
    }
    values = {
        path: value if isinstance(value, LazyArray) else to_numpy(path, value)
        for path, value in rename_arrays(record, keys).items()
    }
    inside = {p: values.pop(p) for p in list(values) if _is_inside(p, custom)}
    report, misfits = _compare_record(parts, values)
    problems = [*_list_mismatches(report, parts), *misfits] if strict else misfits
    # All arrays are read, converted and checked, one at a time, before an array is set.
    loaded: dict[str, _LoadedArray | None] = {}
    for path in report.applied if not problems else ():
        loaded[path] = _convert_array(parts[path], values.pop(path), problems)
    if problems:
        raise RecordError(
            f"the record does not fit {type(module).__name__}: " + "; ".join(problems)
        )
    for prefix, part in custom.items():
        start = len(prefix) + 1
        inner = {p[start:]: inside[p] for p in inside if _is_inside(p, [prefix])}
        part.load_record(inner, strict=strict)
    for path, new in loaded.items():
        if new is not None:
            parts[path].put(new.array)
            parts[path].is_shared = new.is_shared
    _load_reports[module] = replace(report, applied=(*report.applied, *inside))


def require_mapping(record: object) -> None:
    """Raise if a record is not a mapping."""
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


def _compare_record(
    parts: Mapping[str, ModuleArray], values: Mapping[str, Any]
) -> tuple[LoadReport, list[str]]:
    """Return a load report, and a message for each array whose type does not fit."""
    common = {path: (values[path], parts[path]) for path in parts if path in values}
    fits = [path for path, (value, part) in common.items() if value.shape == part.shape]
    kinds = {path: (values[path].dtype, parse_dtype(parts[path].dtype)) for path in fits}
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


def _list_mismatches(report: LoadReport, parts: Mapping[str, ModuleArray]) -> list[str]:
    """Return a message for each mismatch between a record and a module."""
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


def _convert_array(
    part: ModuleArray, value: Any, problems: list[str]
) -> _LoadedArray | None:
    """Convert a value to the parameter's type and backend; on a problem, return None."""
    array = np.asarray(value)
    kind = parse_dtype(part.dtype)
    is_lazy = isinstance(value, LazyArray)
    if array.dtype == kind and is_lazy:
        # The array may share memory with a file, but an optimiser copies a view before
        # writing.
        is_view = not array.flags.writeable
        is_shared = is_view and part.bound_backend.name == "numpy" and array.flags.aligned
        converted = array if is_shared or not is_view else array.copy()
        return _LoadedArray(_to_backend(part, _to_contiguous(converted)), is_shared)
    converted = np.empty(array.shape, kind)
    _convert_in_blocks(part, converted, array, problems)
    return None if problems else _LoadedArray(_to_backend(part, converted))


def _to_backend(part: ModuleArray, converted: NDArray[np.generic]) -> Array:
    """Move a NumPy array to the parameter's backend; memory may be shared."""
    backend = part.bound_backend
    return cast_array(backend, backend.asarray(converted), part.dtype)


def _convert_in_blocks(
    part: ModuleArray,
    out: NDArray[np.generic],
    array: NDArray[np.generic],
    problems: list[str],
) -> None:
    """Convert numbers in blocks; report values that the type cannot represent."""
    flat, source = out.reshape(-1), _to_contiguous(array).reshape(-1)
    for start in range(0, flat.size, _BLOCK_ELEMENTS):
        block = source[start : start + _BLOCK_ELEMENTS]
        if problem := explain_misfit(block, flat.dtype):
            problems.append(f"{part.path} {problem}")
            return
        flat[start : start + _BLOCK_ELEMENTS] = block.astype(flat.dtype)


def _to_contiguous(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return a C-contiguous array; unlike `np.ascontiguousarray`, keep a 0-d array 0-d."""
    return np.ascontiguousarray(array).reshape(array.shape)
