"""Try each fault at each call of a writer or reader, and report wrong results."""

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
    errno_faults,
    read_log,
    start_fault,
    stop_fault,
)
from faults._story import Case, Reader, Writer, names, new_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WRITE_CALLS = ("write", "pwrite", "pwrite64")
READ_CALLS = ("read", "pread", "pread64")
OPEN_CALLS = ("open-read",)
KILL_FAULTS = [
    Fault("killed before", KILL_BEFORE),
    Fault("killed after", KILL_AFTER),
    Fault("killed at half", KILL_HALF, only=WRITE_CALLS),
]
WRITE_FAULTS = [
    *KILL_FAULTS,
    *errno_faults("ENOSPC", "EIO", "EROFS", "EACCES", "EDQUOT", "EMFILE", "EINTR"),
    Fault("short write", SHORT, only=WRITE_CALLS),
    *errno_faults("ENOSPC", calls=CREATE | WRITE | NAME, stays=True),
    *errno_faults("EROFS", stays=True),
]
READ_FAULTS = [
    *errno_faults("EIO", "EINTR", "ESTALE", calls=READING),
    *errno_faults("EMFILE", "EACCES", calls=READING, only=OPEN_CALLS),
    *errno_faults("EIO", calls=READING, stays=True),
    Fault("short read", SHORT, calls=READING, only=READ_CALLS),
    Fault("cut", CUT, calls=READING),
    Fault("removed", GONE, calls=READING),
    Fault("changed", CHANGED, calls=READING),
]
NO_FAULT_CASE = Fault("none", NO_FAULT)
LOST_MESSAGE = "neither the old nor the new: "


class Sweep:
    """A folder with initial content, which is restored before each fault."""

    def __init__(self, story: Writer | Reader) -> None:
        home = new_folder()
        self.log, self.place, self.before = home / "log", home / "place", home / "before"
        self.before.mkdir()
        story.prepare(self.before)

    def reset(self) -> None:
        """Replace the folder by its initial content."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.before, self.place, symlinks=True)

    def check_error(self, outcome: Outcome) -> Iterator[str]:
        """Yield an error if an exception is not a SeqloomError with the path of a file."""
        if outcome.error and not outcome.is_ours:
            yield f"an error of another type, {outcome.error}"
        elif outcome.error and str(self.place) not in outcome.error:
            yield f"an error that names no file, {outcome.error}"


class WriterSweep(Sweep):
    """A test of one writer with all faults."""

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self.writer = writer
        self.reset()
        self.old = self._run_or_fail(lambda: writer.read(self.place))
        self._run_or_fail(lambda: self.write(NO_FAULT_CASE, -1))
        self.new = self._run_or_fail(lambda: writer.read(self.place))
        self.names = names(self.place)
        assert writer.is_job or self.old != self.new, f"{writer.name}: changes nothing"

    def cases(self) -> Iterator[Case]:
        """Yield a case for each fault and each call that can have this fault."""
        for fault in WRITE_FAULTS:
            for at, call in enumerate(self.calls(fault.calls)):
                if fault.fits(call):
                    yield Case(
                        _name_call(fault, at, call), partial(self._try_at, fault, at, call)
                    )

    def calls(self, wanted: int, *, data: bool = False) -> list[Call]:
        """Write without a fault, and return the calls."""
        self.reset()
        self.log.unlink(missing_ok=True)
        watch = replace(NO_FAULT_CASE, calls=wanted)
        self._run_or_fail(lambda: self.write(watch, -1, log=self.log, data=data))
        return read_log(self.log)

    def write(
        self, fault: Fault, at: int, *, log: Path | None = None, data: bool = False
    ) -> bool:
        """Write while one call fails; return True unless the writer raises an error."""
        start_fault(self.place, fault, at, log=log, data=data)
        try:
            self.writer.write(self.place)
        finally:
            stop_fault()
        return True

    def _try_at(self, fault: Fault, at: int, call: Call) -> Iterator[str]:
        """Write with a fault, check the remaining files, and write again."""
        self.reset()
        outcome = run_apart(lambda: self.write(fault, at))
        yield from self._check(fault, outcome)
        yield from self.check_files([self.new] if outcome.value else [self.old, self.new])
        # A killed writer cannot remove its temporary files, nor can a writer whose
        # calls to remove files fail.
        may_stay = fault.stays or call.name in {"unlink", "unlinkat", "rmdir"}
        if outcome.error and not may_stay and not self.writer.is_job:
            yield from self._find_leftovers()
        yield from self.check_next_write()

    def _check(self, fault: Fault, outcome: Outcome) -> Iterator[str]:
        """Yield an error if a writer ended with an unexpected signal or exception."""
        if outcome.signal and not (outcome.is_killed and fault.is_kill):
            yield str(outcome)
        yield from self.check_error(outcome)

    def _find_leftovers(self) -> Iterator[str]:
        """Yield an error if files belong to neither the old nor the new state."""
        known = {*names(self.before), *self.names}
        left = [name for name in names(self.place) if name not in known]
        if left:
            yield f"left {', '.join(left)} behind"

    def check_files(self, allowed: list[object]) -> Iterator[str]:
        """Check for the old or the new state; for a job, check for complete parts."""
        if self.writer.is_job:
            yield from self._check_part()
            return
        left = run_apart(lambda: self.writer.read(self.place))
        if left.value not in allowed:
            yield f"{LOST_MESSAGE}{left}"

    def _check_part(self) -> Iterator[str]:
        """Yield an error if a stopped job left incomplete parts."""
        broken = self.writer.broken
        if broken is not None:
            left = run_apart(lambda: broken(self.place))
            if left.value != []:
                yield f"{LOST_MESSAGE}{left}"

    def check_next_write(self) -> Iterator[str]:
        """Write again, as if an hour later, and check that exactly the new files exist."""
        _age_files(self.place)
        again = run_apart(lambda: self.write(NO_FAULT_CASE, -1))
        if again.error or again.signal:
            yield f"the next write {again}"
            return
        found = run_apart(lambda: self.writer.read(self.place))
        if found.value != self.new:
            yield f"reading after the next write {found}"
        differing = ({*names(self.place)} ^ {*self.names}) - {*self.writer.optional}
        if differing:
            yield f"after the next write {', '.join(sorted(differing))} differ"

    def _run_or_fail(self, function: Callable[[], object]) -> object:
        """Run a function, and assert that it succeeds."""
        outcome = run_apart(function)
        assert not outcome.error, f"{self.writer.name}: {outcome}"
        assert not outcome.signal, f"{self.writer.name}: {outcome}"
        return outcome.value


class ReaderSweep(Sweep):
    """A test of one reader with all faults."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self.reader = reader
        self.whole = self._read(replace(NO_FAULT_CASE, calls=READING), -1, log=self.log)
        assert not self.whole.error, f"{reader.name}: {self.whole}"
        self.calls = read_log(self.log)

    def cases(self) -> Iterator[Case]:
        """Yield a case for each fault and each call that can have this fault."""
        for fault in READ_FAULTS:
            for at, call in enumerate(self.calls):
                if fault.fits(call):
                    yield Case(
                        _name_call(fault, at, call), partial(self._try_at, fault, at, call)
                    )

    def _read(self, fault: Fault, at: int, *, log: Path | None = None) -> Outcome:
        """Read while one call fails."""
        self.reset()

        def read() -> object:
            start_fault(self.place, fault, at, log=log)
            try:
                return self.reader.read(self.place)
            finally:
                stop_fault()

        return run_apart(read)

    def _try_at(self, fault: Fault, at: int, call: Call) -> Iterator[str]:
        """Inject a fault into a call while reading, and yield the errors of the outcome."""
        yield from self.check(self._read(fault, at), self._allowed(fault, call))

    def check(self, outcome: Outcome, allowed: list[object] | None) -> Iterator[str]:
        """Yield an error for a wrong value or an exception that is not a SeqloomError."""
        yield from self.check_error(outcome)
        if outcome.signal:
            yield str(outcome)
        elif not outcome.error and allowed is not None and outcome.value not in allowed:
            yield f"read {outcome.value!r} instead of {self.whole.value!r}"

    def _allowed(self, fault: Fault, call: Call) -> list[object]:
        """Return the value of the file, and its value after a change during reading."""
        if fault.kind not in {CUT, CHANGED}:
            return [self.whole.value]
        # The fault occurs at the first call on this file, before any byte of the file
        # is read.
        first = next(at for at, one in enumerate(self.calls) if one.path == call.path)
        return [self.whole.value, self._read(fault, first).value]


def _age_files(place: Path) -> None:
    """Set old modification times, so that the files cannot belong to a running process."""
    before = time.time() - 3600
    for path in place.rglob("*"):
        os.utime(path, (before, before), follow_symlinks=False)


def _name_call(fault: Fault, at: int, call: Call) -> str:
    """Return a description of a fault and the call that fails."""
    how = " from there on" if fault.stays else ""
    return f"{fault.name} at call {at}{how}, {call.name} {Path(call.path).name}"
