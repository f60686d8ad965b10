"""Keeps layouts in files, so that the next process does not have to make them again.

A file holds numbers and names only, no code: the code is written from the traced graph and
its layout. If anything is wrong with a file, the graph is laid out again.
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
from seqloom.tensor._compile._numpy._identity import GraphText
from seqloom.tensor._compile._numpy._layout import (
    Layout,
    LayoutFacts,
    from_facts,
    lay_out,
    to_facts,
)
from seqloom.tensor._scope._origin import caller, user_frame

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._graph import Graph

_FORMAT_VERSION = 2  # increases with every change of the file format
# A graph with fewer operations is laid out faster than a file is read.
_LEAST_OPERATIONS = 32
# Limits of the folder; the least recently used files are removed first.
_MOST_FILES, _MOST_BYTES = 512, 64 << 20
_PRIVATE = 0o700
_NAME = re.compile(r"[0-9a-f]{32}\.json")
# The errors that a damaged file causes.
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


def find_layout(graph: Graph, backend: Backend) -> Layout:
    """Returns the layout that an earlier process kept; else makes one and keeps it."""
    text = _describe(graph, backend)
    if text is None:
        return lay_out(graph, backend)
    path = cache_home() / "programs" / f"{text.digest(*_find_dependencies())}.json"
    if os.path.lexists(path) and not _may_be_ours(path):
        return lay_out(graph, backend)
    if (content := _read(path)) is not None:
        try:
            return from_facts(graph, backend, _parse(path, content), text.names)
        except _DAMAGE as error:
            _warn(path, error)
    layout = lay_out(graph, backend)
    _write(path, to_facts(layout, text.names))
    return layout


def _describe(graph: Graph, backend: Backend) -> GraphText | None:
    """Returns the text that names the file of a graph; None if no file is kept."""
    is_ours = type(backend).__module__.startswith("seqloom.")
    if not is_ours or len(graph.operations) < _LEAST_OPERATIONS or not _is_enabled():
        return None
    try:
        return GraphText(graph)
    except TypeError:
        return None


def _is_enabled() -> bool:
    """Returns False if the environment switches the files off."""
    value = os.environ.get("SEQLOOM_PROGRAMS") or "1"
    if value not in ("0", "1"):
        raise ArgumentError(
            f"the environment variable SEQLOOM_PROGRAMS is {value!r}; set it to 1 to keep "
            "the layouts of compiled steps in files, or to 0 to keep none"
        )
    return value == "1"


def _may_be_ours(path: Path) -> bool:
    """Returns True for a regular file with the name and the size of a layout's."""
    with suppress(OSError):
        about = path.lstat()
        has_name = _NAME.fullmatch(path.name) is not None
        return has_name and stat.S_ISREG(about.st_mode) and about.st_size <= _MOST_BYTES
    return False


@cache
def _find_dependencies() -> tuple[str, ...]:
    """Lists what a layout depends on besides its graph (not the number of threads)."""
    planner = Path(__file__).parent
    kernels = planner.parents[1] / "backends/_numpy"
    return (
        f"format {_FORMAT_VERSION}",
        f"seqloom {_native.version()} {_stamp(planner)} {_stamp(kernels)}",
        f"numpy {np.__version__}, python {sys.version}",
        f"{platform.machine()} {_native.simd()}",
    )


def _stamp(folder: Path) -> str:
    """Returns sizes and times of source files, which may change within one version."""
    with suppress(OSError):
        files = [entry for entry in os.scandir(folder) if entry.name.endswith(".py")]
        facts = [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files]
        return str(sorted(facts))
    return ""


def _read(path: Path) -> bytes | None:
    """Returns the bytes of a file, and marks it as used; None if it is not readable."""
    content = None
    with suppress(OSError):
        content = path.read_bytes()
        os.utime(path)  # not permitted if the file is another user's
    return content


def _parse(path: Path, content: bytes) -> LayoutFacts:
    """Returns the facts in a file; raises `ValueError` if it is not as it was written."""
    first, _, body = content.partition(b"\n")
    head = cast("dict[str, Any]", json.loads(first))
    if head["key"] != path.stem:
        raise ValueError("it belongs to another program")
    if head["checksum"] != _checksum(body):
        raise ValueError("its checksum is wrong")
    return json.loads(body)


def _write(path: Path, facts: LayoutFacts) -> None:
    """Writes a file; ignores that the folder is not writable."""
    body = json.dumps(facts, separators=(",", ":")).encode()
    head = json.dumps({"key": path.stem, "checksum": _checksum(body)}).encode()
    with suppress(OSError, FileError):
        path.parent.mkdir(_PRIVATE, parents=True, exist_ok=True)
        # Without fsync: the checksum finds a file that a crash has cut.
        write_atomic(path, head + b"\n" + body, durable=False)
        _trim(path.parent)


def _checksum(body: bytes) -> str:
    """Returns the hash of a file's second line."""
    return blake2b(body, digest_size=16).hexdigest()


def _trim(folder: Path) -> None:
    """Removes the least recently used files while there are too many."""
    # Files of other programs stay.
    files = [(path.stat(), path) for path in folder.iterdir() if _may_be_ours(path)]
    files.sort(key=lambda file: file[0].st_mtime_ns, reverse=True)
    total = 0
    for count, (about, path) in enumerate(files, start=1):
        total += about.st_size
        if count > _MOST_FILES or total > _MOST_BYTES:
            path.unlink(missing_ok=True)


def _warn(path: Path, error: Exception) -> None:
    """Warns about a damaged file, at the line of the user's code that compiles."""
    frame = user_frame(caller(1))
    warnings.warn_explicit(
        f"the layout of a compiled step in {path} is damaged ({error}); the file was "
        "replaced",
        RuntimeWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
    )
