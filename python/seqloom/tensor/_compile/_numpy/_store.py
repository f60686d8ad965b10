"""Layouts kept in files, so that the next process need not make them again.

A file holds numbers and names alone, no code: what runs is written from the graph that was
traced, by way of its layout. Whatever is wrong with a file, the graph is laid out again.
"""

from __future__ import annotations

import json
import os
import platform
import re
import stat
import sys
import warnings
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._cache_home import cache_home
from seqloom._files import write_atomic
from seqloom._rust import _native
from seqloom.errors import ArgumentError, FileError
from seqloom.tensor._compile._numpy._identity import Identity
from seqloom.tensor._compile._numpy._layout import Layout, facts_of, laid_out, restored
from seqloom.tensor._memory._origin import caller, users

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._graph import Graph

# Goes up when the form of a file changes.
_FORM = 1
# A smaller graph is laid out sooner than a file is read.
_LEAST = 32
# So many files are kept, and bytes; the least recently used go first.
_MOST, _MOST_BYTES = 512, 64 << 20
_PRIVATE = 0o700
_NAME = re.compile(r"[0-9a-f]{32}\.json")
# What is raised by a file that does not say what a layout is.
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


def layout_of(graph: Graph, backend: Backend) -> Layout:
    """The layout of a graph: as it was kept by an earlier process, else made and kept.

    Args:
        graph: What is computed.
        backend: The backend whose functions do what no group does.

    Returns:
        The same, kept or made.
    """
    identity = _identity_of(graph, backend)
    if identity is None:
        return laid_out(graph, backend)
    path = cache_home() / "programs" / f"{identity.digest(*_around())}.json"
    if os.path.lexists(path) and not _may_be_ours(path):
        return laid_out(graph, backend)
    if (text := _read(path)) is not None:
        try:
            return restored(graph, backend, _facts(path, text), identity.names)
        except _DAMAGE as error:
            _warn(path, error)
    layout = laid_out(graph, backend)
    _keep(path, facts_of(layout, identity.names))
    return layout


def _identity_of(graph: Graph, backend: Backend) -> Identity | None:
    """What the graph is kept under; none where it is not kept."""
    is_ours = type(backend).__module__.startswith("seqloom.")
    if not is_ours or len(graph.operations) < _LEAST:
        return None
    if not _is_asked_for():
        return None
    try:
        return Identity(graph)
    except TypeError:
        return None


def _is_asked_for() -> bool:
    """Whether layouts are kept: the environment may say no."""
    value = os.environ.get("SEQLOOM_PROGRAMS") or "1"
    if value not in ("0", "1"):
        raise ArgumentError(
            f"SEQLOOM_PROGRAMS must be 1, to keep the plans of compiled steps, or 0, got "
            f"{value!r}"
        )
    return value == "1"


def _may_be_ours(path: Path) -> bool:
    """Whether it can be a file of ours: regular, named like one, not larger than all."""
    with suppress(OSError):
        about = path.lstat()
        is_named = _NAME.fullmatch(path.name) is not None
        return is_named and stat.S_ISREG(about.st_mode) and about.st_size <= _MOST_BYTES
    return False


@cache
def _around() -> tuple[str, ...]:
    """Lists what a layout depends on beside its graph; the number of threads is none."""
    planner = Path(__file__).parent
    kernels = planner.parents[1] / "backends/_numpy"
    return (
        f"form {_FORM}",
        f"seqloom {_native.version()} {_stamp(planner)} {_stamp(kernels)}",
        f"numpy {np.__version__}, python {sys.version}",
        f"{platform.machine()} {_native.simd()}",
    )


def _stamp(folder: Path) -> str:
    """Sizes and times of source files: a change of them need not change the version."""
    with suppress(OSError):
        files = [each for each in os.scandir(folder) if each.name.endswith(".py")]
        facts = [
            (each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in files
        ]
        return str(sorted(facts))
    return ""


def _read(path: Path) -> bytes | None:
    """The bytes of a file, which is used last now; none where it cannot be read."""
    text = None
    with suppress(OSError):
        text = path.read_bytes()
        os.utime(path)  # refused in a folder that somebody else fills
    return text


def _facts(path: Path, text: bytes) -> dict[str, Any]:
    """What a file says; `ValueError` where it is not as it was written."""
    first, _, body = text.partition(b"\n")
    head = cast("dict[str, Any]", json.loads(first))
    if head["key"] != path.stem:
        raise ValueError("it is of another program")
    if head["checksum"] != _checksum(body):
        raise ValueError("its checksum is wrong")
    return json.loads(body)


def _keep(path: Path, facts: dict[str, Any]) -> None:
    """Writes a file; where that is not possible, nothing is kept."""
    body = json.dumps(facts, separators=(",", ":")).encode()
    head = json.dumps({"key": path.stem, "checksum": _checksum(body)}).encode()
    with suppress(OSError, FileError):
        path.parent.mkdir(_PRIVATE, parents=True, exist_ok=True)
        # Not waited for: what a crash leaves is found by the checksum.
        write_atomic(path, head + b"\n" + body, durable=False)
        _trim(path.parent)


def _checksum(body: bytes) -> str:
    """The hash of a file's second line."""
    return blake2b(body, digest_size=16).hexdigest()


def _trim(folder: Path) -> None:
    """Removes the files that were used longest ago, where there are too many."""
    # What somebody else has put there is left alone.
    found = [(each.stat(), each) for each in folder.iterdir() if _may_be_ours(each)]
    found.sort(key=lambda each: each[0].st_mtime_ns, reverse=True)
    total = 0
    for place, (about, path) in enumerate(found):
        total += about.st_size
        if place >= _MOST or total > _MOST_BYTES:
            path.unlink(missing_ok=True)


def _warn(path: Path, error: Exception) -> None:
    """Says of a file that it is damaged, at the line that compiles."""
    frame = users(caller(1))
    warnings.warn_explicit(
        f"{path}: the plan of a compiled step that was kept here is damaged ({error}); it "
        "was made again",
        RuntimeWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
    )
