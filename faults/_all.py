"""Try the faults of all writers and readers, in several processes."""

from __future__ import annotations

import gc
import os
import random
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from select import select
from typing import TYPE_CHECKING

from faults._apart import Running, start_apart
from faults._crash import crash_cases
from faults._damage import damage_cases
from faults._file_writers import file_writers
from faults._job_writers import job_writers
from faults._page import publish
from faults._readers import readers
from faults._rivals import rivals
from faults._shim import CLOSE, NO_FAULT, WRITING, Fault, read_log, start_fault, stop_fault
from faults._story import Reader, Writer
from faults._sweep import LOST_MESSAGE, ReaderSweep, WriterSweep

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from faults._story import Case

KINDS = ("calls", "crash", "read", "damage", "rival")
_TIMEOUT_SECONDS = 7200  # Seconds after which a writer or reader is stopped as hanging.
MAX_PRINTED = 12  # Maximum number of wrong results printed per writer or reader.


@dataclass(slots=True)
class Result:
    """Faults that were tried on a writer or reader, and the wrong results."""

    name: str = ""
    kind: str = ""
    tried: int = 0
    listed: int = 0
    wrong: list[str] = field(default_factory=list)


def stories(kinds: Sequence[str]) -> dict[tuple[str, str], Writer | Reader]:
    """Return the writers and readers to test, by kind of fault and name."""
    writers = [*file_writers(), *job_writers()]
    listed = {
        "calls": writers,
        "crash": writers,
        "read": readers(),
        "damage": readers(),
        "rival": rivals(),
    }
    return {(kind, story.name): story for kind in kinds for story in listed[kind]}


def try_all(wanted: Namespace) -> int:
    """Print a line for each writer and reader; return 1 if any result was wrong."""
    kinds, begins = wanted.kind or KINDS, tuple(wanted.names or [""])
    chosen = _select(kinds, begins)
    begun = time.monotonic()
    gc.freeze()  # Garbage collection would copy memory in forked processes.
    results: list[Result] = []
    for result in _in_processes(chosen, wanted.sample, jobs=wanted.jobs):
        results.append(result)
        _print_result(result)
    seconds = time.monotonic() - begun
    if wanted.publish:
        order = {it: number for number, it in enumerate(chosen)}
        in_order = sorted(results, key=lambda it: order[it.kind, it.name])
        publish(in_order, seconds, jobs=wanted.jobs)
    return _print_total(results, seconds)


def _select(kinds: Sequence[str], begins: Sequence[str]) -> list[tuple[str, str]]:
    """Return the writers and readers whose names begin with one of the prefixes."""
    names = [name for _, name in stories(KINDS)]
    unknown = [it for it in begins if not any(name.startswith(it) for name in names)]
    chosen = [it for it in stories(kinds) if it[1].startswith(tuple(begins))]
    if unknown or not chosen:
        sys.exit(f"no writer or reader begins with {' or '.join(unknown or begins)}")
    return chosen


def list_calls(wanted: Namespace) -> int:
    """Print the calls of a writer that change files, for a comparison with strace."""
    home = Path(wanted.list)
    writer = stories(["calls"])[_select(["calls"], wanted.names)[0]]
    before, place, log = home / "before", home / "place", home / "log"
    before.mkdir(parents=True)
    writer.prepare(before)
    before.rename(place)
    (home / "now").exists()  # The comparison with the strace log starts at this call.
    start_fault(place, Fault("none", NO_FAULT, WRITING & ~CLOSE), -1, log=log)
    writer.write(place)  # pyright: ignore[reportAttributeAccessIssue]
    stop_fault()
    print(*(call.name for call in read_log(log)))
    return 0


def _in_processes(
    chosen: Sequence[tuple[str, str]], sample: int | None, *, jobs: int
) -> Iterator[Result]:
    """Try the writers and readers, each in a separate process, several at once."""
    waiting, running = list(chosen), dict[Running, tuple[str, str]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            kind, name = waiting.pop(0)
            tried = partial(_try_story, kind, name, sample)
            running[start_apart(tried, seconds=_TIMEOUT_SECONDS)] = kind, name
        ended, _, _ = select(list(running), [], [])
        for one in ended:
            kind, name = running.pop(one)
            outcome = one.finish()
            died = Result(name, kind, wrong=[str(outcome)])
            yield Result(**outcome.value) if outcome.value else died


def _try_story(kind: str, name: str, sample: int | None) -> dict[str, object]:
    """Try all faults of a writer or reader, or a sample of these faults."""
    with tempfile.TemporaryDirectory(
        prefix="seqloom-faults-", dir=_memory_folder()
    ) as home:
        tempfile.tempdir = home
        try:
            return asdict(_try_faults(kind, name, sample))
        except Exception:  # noqa: BLE001 - one that cannot be tried stops no other
            return {"name": name, "kind": kind, "wrong": [traceback.format_exc()]}


def _memory_folder() -> str | None:
    """Return a folder in memory, so that faults are tried without disk accesses."""
    place = "/dev/shm"  # noqa: S108 - a folder of its own is made there
    return place if os.access(place, os.W_OK) else None


def _try_faults(kind: str, name: str, sample: int | None) -> Result:
    """Try faults in a fixed order."""
    story = stories([kind])[kind, name]
    sweep = ReaderSweep(story) if isinstance(story, Reader) else WriterSweep(story)
    cases = _list_cases(sweep, kind)
    result = Result(name, kind, listed=len(cases))
    random.Random(0).shuffle(cases)  # noqa: S311 - no secret
    step = story.step if sample is None and isinstance(story, Writer) else 1
    for case in cases[::step][:sample]:
        result.tried += 1
        wrong = [f"{case.place}: {one}" for one in case.check()]
        # For other libraries, report only lost data, not the types of their errors.
        result.wrong += [one for one in wrong if kind != "rival" or LOST_MESSAGE in one]
    return result


def _list_cases(sweep: WriterSweep | ReaderSweep, kind: str) -> list[Case]:
    """Return all faults of one kind."""
    if isinstance(sweep, ReaderSweep):
        return list(damage_cases(sweep) if kind == "damage" else sweep.cases())
    if kind == "calls":
        return list(sweep.cases())
    if kind == "crash":
        return list(crash_cases(sweep))
    return [*sweep.cases(), *crash_cases(sweep)]


def _print_result(result: Result) -> None:
    """Print the number of faults and the wrong results of a writer or reader."""
    print(
        f"{result.kind:5}  {result.name:31} {result.tried:6,} of {result.listed:6,} "
        f"faults, {len(result.wrong)} wrong",
        flush=True,
    )
    for wrong in result.wrong[:MAX_PRINTED]:
        print(f"       {wrong}")


def _print_total(results: list[Result], seconds: float) -> int:
    """Print the total number of faults and return the exit code."""
    ours = [result for result in results if result.kind != "rival"]
    tried = sum(result.tried for result in ours)
    wrong = sum(len(result.wrong) for result in ours)
    print(f"\n{tried:,} faults in {seconds:.0f} s; {wrong} wrong results")
    return int(wrong > 0)
