"""What loads a file reads that file: it starts no program and asks no other machine."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Everything that loads, by the programs that make calls fail; the loads come behind "now".
LOADS = """
import os, sys, tempfile
from pathlib import Path
from faults import _readers
_readers.MANY = 2000
home = Path(tempfile.mkdtemp(dir=sys.argv[1]))
# An exported model is read by another program.
every = {it.name: it for it in _readers.readers() if it.name != "exported model"}
for number, each in enumerate(every.values()):
    place = home / str(number) / "place"
    place.mkdir(parents=True)
    each.prepare(place)
    each.read(place)  # whatever is imported is imported here
Path(sys.argv[1], "now").exists()
for number, each in enumerate(every.values()):
    each.read(home / str(number) / "place")
print(*every, sep=chr(10))
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """The names of what was loaded, and the calls that strace saw meanwhile."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    home = tmp_path_factory.mktemp("loads")
    calls = "trace=%network,%process,stat,newfstatat"
    trace = ["strace", "-f", "-o", home / "log", "-e", calls]
    done = subprocess.run(
        [*trace, sys.executable, "-c", LOADS, home],
        check=False, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    if "Operation not permitted" in done.stderr:
        pytest.skip("this machine does not let processes be traced")
    assert done.returncode == 0, done.stderr
    log = (home / "log").read_text(errors="replace")
    return done.stdout.splitlines(), log.partition(f'"{home}/now"')[2]


def test_nothing_that_loads_asks_another_machine_or_starts_a_program(traced):
    loaded, calls = traced
    assert len(loaded) >= 17
    assert calls
    strange = r"^\d+ +(execve\w*|v?fork|socket\w*|connect|bind|listen|send\w*|recv\w*)\("
    assert re.findall(strange, calls, re.MULTILINE) == []
