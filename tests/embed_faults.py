"""Runs embedding jobs in which a call of the C library fails, or the process is killed."""

import ctypes
import hashlib
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import embed_job
from save_faults import ERRORS, KILLS

SHARD = 20


def run_faults(library, folder, fasta, *, step=1, links=True):
    """Runs a job with each fault at each call, or at each so many-th; returns rows."""
    command = [sys.executable, __file__, str(library), str(folder), str(fasta), str(step)]
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    environment |= {} if links else {"WITHOUT_LINKS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, env=environment)
    return json.loads(done.stdout)


def sums_of(folder):
    """The sums of the shards."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).glob("*.safetensors"))
    }


def broken_markers(folder):
    """Lists the markers that are not whole, or whose shard is not there, whole."""
    names = []
    for marker in Path(folder).glob("*.done"):
        with suppress(OSError, ValueError):
            done = json.loads(marker.read_text(encoding="utf-8"))
            data = (marker.parent / done["file"]).read_bytes()
            if hashlib.sha256(data).hexdigest() == done["sha256"]:
                continue
        names.append(marker.name)
    return names


class Jobs:
    """Jobs in forked processes, over one file."""

    def __init__(self, library, folder, fasta):
        self.shim = ctypes.CDLL(library)
        self.shim.disarm.restype = ctypes.c_char_p
        self.folder, self.fasta = Path(folder), fasta

    def run_apart(self, out, number, fault):
        """Returns what a job said or the calls it made, and whether it was killed."""
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.write(writer, self.say(out, number, fault).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            said = pipe.read()
        status = os.waitpid(child, 0)[1]
        return said, os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

    def say(self, out, number, fault):
        """Runs a job with a fault at one call; returns its error, or its calls."""
        self.shim.arm(number, fault)
        try:
            embed_job.run(self.fasta, out, SHARD)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.shim.disarm()
            return f"{type(error).__name__}: {error}"
        return self.shim.disarm().decode()

    def try_fault(self, number, name, expected):
        """Runs a job with a fault, looks at what is left, and runs it again."""
        out = self.folder / f"{name}-{number}"
        said, is_killed = self.run_apart(out, number, {**ERRORS, **KILLS}[name])
        row = {"said": said, "is_killed": is_killed, "broken": broken_markers(out)}
        then, _ = self.run_apart(out, -1, 0)
        is_same = sums_of(out) == expected and (out / "complete.json").exists()
        return {**row, "then": then, "is_same": is_same, "after": broken_markers(out)}


def main(library, folder, fasta, step):
    """Prints one row for each call and fault."""
    jobs = Jobs(library, folder, fasta)
    calls = jobs.run_apart(jobs.folder / "whole", -1, 0)[0].split()
    expected = sums_of(jobs.folder / "whole")
    faults = list(enumerate({**ERRORS, **KILLS}))
    rows = [
        {"call": call, "fault": fault, **jobs.try_fault(number, fault, expected)}
        for number, call in enumerate(calls)
        for position, fault in faults
        if (number + position) % int(step) == 0 and (fault != "half" or call == "write")
    ]
    sys.stdout.write(json.dumps(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
