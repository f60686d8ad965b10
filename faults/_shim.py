"""Build the library that makes calls fail, and restart this program with it."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Flags of calls, as in shim.c.
CREATE, WRITE, SYNC, NAME, REMOVE, RIGHTS, CLOSE, OPEN_READ, READ = (
    1 << bit for bit in range(9)
)
WRITING = CREATE | WRITE | SYNC | NAME | REMOVE | RIGHTS | CLOSE
READING = OPEN_READ | READ
# Kinds of faults without an errno, as in shim.c.
KILL_BEFORE, KILL_AFTER, KILL_HALF, SHORT, CUT, GONE, CHANGED = range(-1, -8, -1)
NO_FAULT = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that is injected at a call: an errno, or a kind such as KILL_BEFORE."""

    name: str
    kind: int
    calls: int = WRITING  # Flags of the calls that are counted and can fail.
    stays: bool = False  # True if all calls after the first failing call also fail.
    only: tuple[str, ...] = ()  # Names of the calls that can fail; empty for all calls.

    @property
    def is_kill(self) -> bool:
        """True if the fault kills the process."""
        return self.kind in {KILL_BEFORE, KILL_AFTER, KILL_HALF}

    def fits(self, call: Call) -> bool:
        """Return whether a call can have this fault."""
        return not self.only or call.name in self.only


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the library has intercepted."""

    name: str
    path: str
    other: str
    offset: int
    size: int
    data: bytes

    @classmethod
    def parse(cls, line: str) -> Call:
        """Return the call in a line of the log."""
        name, path, other, offset, size, data = line.split("\t")
        return cls(name, path, other, int(offset), int(size), bytes.fromhex(data))


def errno_faults(*names: str, **options: object) -> list[Fault]:
    """Return a fault to inject for each error name, such as ENOSPC."""
    return [Fault(name, getattr(errno, name), **options) for name in names]  # pyright: ignore[reportArgumentType]


def build_library(folder: Path) -> Path:
    """Compile the library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        sys.exit("faults need Linux and a C compiler: install gcc or clang")
    library, source = folder / "shim.so", Path(__file__).with_name("shim.c")
    command = [compiler, "-shared", "-fPIC", "-O1", "-w", "-o", library, source, "-ldl"]
    subprocess.run(command, check=True)
    return library


def restart_with_library() -> None:
    """Restart this program with the library, unless it is loaded already."""
    if "SEQLOOM_SHIM" in os.environ:
        return
    with tempfile.TemporaryDirectory(prefix="seqloom-faults-") as home:
        library = str(build_library(Path(home)))
        # Restrict each library to one thread, because this process will fork.
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        environment = {"LD_PRELOAD": library, "SEQLOOM_SHIM": library, **threads}
        command = [sys.executable, "-m", "faults", *sys.argv[1:]]
        done = subprocess.run(command, check=False, env={**os.environ, **environment})
    sys.exit(done.returncode)


def start_fault(
    folder: Path,
    fault: Fault,
    number: int,
    *,
    log: Path | None = None,
    data: bool = False,
) -> None:
    """Start to count the calls on files below a folder, and make one call fail."""
    text = "" if log is None else str(log)
    numbers = fault.calls, number, fault.kind, int(fault.stays), int(data)
    # Child processes read this variable.
    lines: Sequence[object] = (folder, text, " ".join(map(str, numbers)))
    os.environ["SEQLOOM_FAULT"] = "\n".join(map(str, lines))
    _library().arm(os.fsencode(folder), text.encode(), fault.calls, ctypes.c_long(number),
                   fault.kind, int(fault.stays), int(data))  # fmt: skip


def stop_fault() -> None:
    """Stop counting calls."""
    _library().disarm()
    os.environ.pop("SEQLOOM_FAULT", None)


def read_log(log: Path) -> list[Call]:
    """Return the logged calls."""
    if not log.exists():
        return []
    lines = log.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return [Call.parse(line) for line in lines]


def _library() -> ctypes.CDLL:
    """Load the library that intercepts file calls."""
    return ctypes.CDLL(os.environ["SEQLOOM_SHIM"])
