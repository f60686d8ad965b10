"""The machine stops: whatever the disk kept, the old state is read or the new one."""

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
    """List each state of the disk that a writer's calls allow."""
    seen: set[tuple[str, bool]] = set()
    for place, is_over, tree in _states(sweep):
        key = _digest(tree), is_over
        if key not in seen:
            seen.add(key)
            yield Case(place, partial(_judge, sweep, tree, is_over=is_over))


def _states(sweep: WriterSweep) -> Iterator[tuple[str, bool, Tree]]:
    """List what may be on the disk after each call; at last after all."""
    calls = sweep.calls(WRITING, data=True)
    disk = Disk.of(sweep.before, sweep.place)
    for number, call in enumerate(calls):
        disk.follow(call)
        is_over = number == len(calls) - 1
        for tree in disk.after_crash():
            yield _say(number, call), is_over, tree


def _say(number: int, call: Call) -> str:
    """Name the call behind which the power failed."""
    return f"power cut after call {number}, {call.name} {call.path.rpartition('/')[2]}"


def _digest(tree: Tree) -> str:
    """Hash what is on a disk."""
    return sha256(repr(sorted(tree.items())).encode()).hexdigest()


def _judge(sweep: WriterSweep, tree: Tree, *, is_over: bool) -> Iterator[str]:
    """Say what is wrong with what is on the disk."""
    _lay(sweep, tree)
    yield from sweep.judge_left([sweep.new] if is_over else [sweep.old, sweep.new])
    yield from sweep.judge_next()


def _lay(sweep: WriterSweep, tree: Tree) -> None:
    """Write what is on the disk into the folder."""
    shutil.rmtree(sweep.place)
    sweep.place.mkdir()
    for name, data in sorted(tree.items()):
        if data is None:
            (sweep.place / name).mkdir()
        else:
            (sweep.place / name).write_bytes(data)
