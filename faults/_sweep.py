"""Tries each fault at each call of a writer or a reader, and says what is wrong then."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from faults._apart import Outcome, run_apart
from faults._shim import (
    CHANGED,
    CREATE,
    CUT,
    GONE,
    KILL_AFTER,
    KILL_BEFORE,
    KILL_HALF,
    NAME,
    NO_FAULT,
    READING,
    SHORT,
    WRITE,
    Call,
    Fault,
    arm,
    disarm,
    errors,
    read_log,
)
from faults._story import Case, Reader, Writer, names, new_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOVES = ("write", "pwrite", "pwrite64")
TAKES = ("read", "pread", "pread64")
OPENS = ("open-read",)
KILLS = [
    Fault("killed before", KILL_BEFORE),
    Fault("killed after", KILL_AFTER),
    Fault("killed at half", KILL_HALF, only=MOVES),
]
WRITE_FAULTS = [
    *KILLS,
    *errors("ENOSPC", "EIO", "EROFS", "EACCES", "EDQUOT", "EMFILE", "EINTR"),
    Fault("short write", SHORT, only=MOVES),
    *errors("ENOSPC", calls=CREATE | WRITE | NAME, stays=True),
    *errors("EROFS", stays=True),
]
READ_FAULTS = [
    *errors("EIO", "EINTR", "ESTALE", calls=READING),
    *errors("EMFILE", "EACCES", calls=READING, only=OPENS),
    *errors("EIO", calls=READING, stays=True),
    Fault("short read", SHORT, calls=READING, only=TAKES),
    Fault("cut", CUT, calls=READING),
    Fault("removed", GONE, calls=READING),
    Fault("changed", CHANGED, calls=READING),
]
NONE = Fault("none", NO_FAULT)
LOST = "neither the old nor the new: "


class Sweep:
    """A folder that is made anew for each fault."""

    def __init__(self, story: Writer | Reader) -> None:
        home = new_folder()
        self.log, self.place, self.before = home / "log", home / "place", home / "before"
        self.before.mkdir()
        story.prepare(self.before)

    def reset(self) -> None:
        """Make the folder what it was before."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.before, self.place, symlinks=True)

    def judge_error(self, outcome: Outcome) -> Iterator[str]:
        """Say what is wrong with an error: it must be ours, and name a file."""
        if outcome.error and not outcome.is_ours:
            yield f"an error of another type, {outcome.error}"
        elif outcome.error and str(self.place) not in outcome.error:
            yield f"an error that names no file, {outcome.error}"


class WriterSweep(Sweep):
    """All faults of one writer."""

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self.writer = writer
        self.reset()
        self.old = self._must(lambda: writer.read(self.place))
        self._must(lambda: self.write(NONE, -1))
        self.new = self._must(lambda: writer.read(self.place))
        self.names = names(self.place)
        assert writer.is_job or self.old != self.new, f"{writer.name}: changes nothing"

    def cases(self) -> Iterator[Case]:
        """List every fault at every call that it fits."""
        for fault in WRITE_FAULTS:
            for at, call in enumerate(self.calls(fault.calls)):
                if fault.fits(call):
                    yield Case(_say(fault, at, call), partial(self._try, fault, at, call))

    def calls(self, wanted: int, *, data: bool = False) -> list[Call]:
        """Write without a fault, and list its calls."""
        self.reset()
        self.log.unlink(missing_ok=True)
        watch = replace(NONE, calls=wanted)
        self._must(lambda: self.write(watch, -1, log=self.log, data=data))
        return read_log(self.log)

    def write(
        self, fault: Fault, at: int, *, log: Path | None = None, data: bool = False
    ) -> bool:
        """Write while one call meets a fault; says that it ended well."""
        arm(self.place, fault, at, log=log, data=data)
        try:
            self.writer.write(self.place)
        finally:
            disarm()
        return True

    def _try(self, fault: Fault, at: int, call: Call) -> Iterator[str]:
        """Write with a fault, looks at what is left, and writes again."""
        self.reset()
        outcome = run_apart(lambda: self.write(fault, at))
        yield from self._judge(fault, outcome)
        yield from self.judge_left([self.new] if outcome.value else [self.old, self.new])
        # A folder that cannot be changed keeps what was begun; so does a killed writer's.
        may_stay = fault.stays or call.name in {"unlink", "unlinkat", "rmdir"}
        if outcome.error and not may_stay and not self.writer.is_job:
            yield from self._judge_leftovers()
        yield from self.judge_next()

    def _judge(self, fault: Fault, outcome: Outcome) -> Iterator[str]:
        """Say what is wrong with how a writer ended."""
        if outcome.signal and not (outcome.is_killed and fault.is_kill):
            yield str(outcome)
        yield from self.judge_error(outcome)

    def _judge_leftovers(self) -> Iterator[str]:
        """Say what belongs to neither the old nor the new state."""
        known = {*names(self.before), *self.names}
        left = [name for name in names(self.place) if name not in known]
        if left:
            yield f"left {', '.join(left)} behind"

    def judge_left(self, allowed: list[object]) -> Iterator[str]:
        """Read what is left: the old state or the new one; of a job, whole parts."""
        if self.writer.is_job:
            yield from self._judge_part()
            return
        left = run_apart(lambda: self.writer.read(self.place))
        if left.value not in allowed:
            yield f"{LOST}{left}"

    def _judge_part(self) -> Iterator[str]:
        """Say what is broken in the part that a stopped job left."""
        broken = self.writer.broken
        if broken is not None:
            left = run_apart(lambda: broken(self.place))
            if left.value != []:
                yield f"{LOST}{left}"

    def judge_next(self) -> Iterator[str]:
        """Write again, an hour later: all is new, and nothing else is there."""
        _make_old(self.place)
        again = run_apart(lambda: self.write(NONE, -1))
        if again.error or again.signal:
            yield f"the next write {again}"
            return
        found = run_apart(lambda: self.writer.read(self.place))
        if found.value != self.new:
            yield f"what is read after the next write {found}"
        differing = ({*names(self.place)} ^ {*self.names}) - {*self.writer.optional}
        if differing:
            yield f"after the next write {', '.join(sorted(differing))} differ"

    def _must(self, function: Callable[[], object]) -> object:
        """Run what has no fault."""
        outcome = run_apart(function)
        assert not outcome.error, f"{self.writer.name}: {outcome}"
        assert not outcome.signal, f"{self.writer.name}: {outcome}"
        return outcome.value


class ReaderSweep(Sweep):
    """All faults of one reader."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self.reader = reader
        self.whole = self._read(replace(NONE, calls=READING), -1, log=self.log)
        assert not self.whole.error, f"{reader.name}: {self.whole}"
        self.calls = read_log(self.log)

    def cases(self) -> Iterator[Case]:
        """List every fault at every call that it fits."""
        for fault in READ_FAULTS:
            for at, call in enumerate(self.calls):
                if fault.fits(call):
                    yield Case(_say(fault, at, call), partial(self._try, fault, at, call))

    def _read(self, fault: Fault, at: int, *, log: Path | None = None) -> Outcome:
        """Read while one call meets a fault."""
        self.reset()

        def read() -> object:
            arm(self.place, fault, at, log=log)
            try:
                return self.reader.read(self.place)
            finally:
                disarm()

        return run_apart(read)

    def _try(self, fault: Fault, at: int, call: Call) -> Iterator[str]:
        """Read with a fault, and say what is wrong."""
        yield from self.judge(self._read(fault, at), self._allowed(fault, call))

    def judge(self, outcome: Outcome, allowed: list[object] | None) -> Iterator[str]:
        """Say what is wrong: a value that is another one, or an error that is not ours."""
        yield from self.judge_error(outcome)
        if outcome.signal:
            yield str(outcome)
        elif not outcome.error and allowed is not None and outcome.value not in allowed:
            yield f"read {outcome.value!r} instead of {self.whole.value!r}"

    def _allowed(self, fault: Fault, call: Call) -> list[object]:
        """Return what the file says; and what it says that came to be while it was read."""
        if fault.kind not in {CUT, CHANGED}:
            return [self.whole.value]
        # The fault meets the first call on this file, before its first byte is read.
        first = next(at for at, one in enumerate(self.calls) if one.path == call.path)
        return [self.whole.value, self._read(fault, first).value]


def _make_old(place: Path) -> None:
    """Date files back: nobody who lives has written them."""
    before = time.time() - 3600
    for path in place.rglob("*"):
        os.utime(path, (before, before), follow_symlinks=False)


def _say(fault: Fault, at: int, call: Call) -> str:
    """Name a fault and the call that meets it."""
    how = " from there on" if fault.stays else ""
    return f"{fault.name} at call {at}{how}, {call.name} {Path(call.path).name}"
