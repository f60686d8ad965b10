"""Test power cuts: the old or new data must be readable in each possible disk state."""

from __future__ import annotations

import shutil
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from faults._disk import Disk
from faults._shim import WRITING
from faults._story import Case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faults._disk import Tree
    from faults._shim import Call
    from faults._sweep import WriterSweep


def crash_cases(sweep: WriterSweep) -> Iterator[Case]:
    """Yield each state of the disk that the calls of a writer allow."""
    seen: set[tuple[str, bool]] = set()
    for place, is_over, tree in _disk_states(sweep):
        key = _hash_tree(tree), is_over
        if key not in seen:
            seen.add(key)
            yield Case(place, partial(_check_state, sweep, tree, is_over=is_over))


def _disk_states(sweep: WriterSweep) -> Iterator[tuple[str, bool, Tree]]:
    """Yield the possible states of the disk after each call of a writer."""
    calls = sweep.calls(WRITING, data=True)
    disk = Disk.of(sweep.before, sweep.place)
    for number, call in enumerate(calls):
        disk.follow(call)
        is_over = number == len(calls) - 1
        for tree in disk.after_crash():
            yield _name_call(number, call), is_over, tree


def _name_call(number: int, call: Call) -> str:
    """Return a description of the call after which the power failed."""
    return f"power cut after call {number}, {call.name} {call.path.rpartition('/')[2]}"


def _hash_tree(tree: Tree) -> str:
    """Return a hash of the content of a disk."""
    return sha256(repr(sorted(tree.items())).encode()).hexdigest()


def _check_state(sweep: WriterSweep, tree: Tree, *, is_over: bool) -> Iterator[str]:
    """Return the errors of reading from a state of the disk."""
    _write_state(sweep, tree)
    yield from sweep.check_files([sweep.new] if is_over else [sweep.old, sweep.new])
    yield from sweep.check_next_write()


def _write_state(sweep: WriterSweep, tree: Tree) -> None:
    """Write a state of the disk into the folder."""
    shutil.rmtree(sweep.place)
    sweep.place.mkdir()
    for name, data in sorted(tree.items()):
        if data is None:
            (sweep.place / name).mkdir()
        else:
            (sweep.place / name).write_bytes(data)
