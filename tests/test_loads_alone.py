"""Loading a file starts no program and opens no connection."""

import io
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

h5py = pytest.importorskip("h5py")

REPOSITORY = Path(__file__).parents[1]
# A script that calls all load functions of the fault tests twice; the file "now" marks
# the second time.
LOADING_SCRIPT = """
import os, sys, tempfile
from pathlib import Path
import numpy as np, seqloom
from faults import _readers
_readers.MANY = 2000
home = Path(tempfile.mkdtemp(dir=sys.argv[1]))
others = sorted(Path(sys.argv[1], "others").iterdir())

def read_others():
    for file in others:
        record = seqloom.record.load(file)
        assert [np.asarray(array).sum() for array in record.values()] == [36.0], file

# An exported model is read by another program.
every = {it.name: it for it in _readers.readers() if it.name != "exported model"}
for number, each in enumerate(every.values()):
    place = home / str(number) / "place"
    place.mkdir(parents=True)
    each.prepare(place)
    each.read(place)  # imports everything
read_others()
Path(sys.argv[1], "now").exists()
for number, each in enumerate(every.values()):
    each.read(home / str(number) / "place")
read_others()
print(*every, *(file.name for file in others), sep=chr(10))
"""


def write_others(folder):
    """Write a PyTorch file and a Keras file with nine numbers each."""
    numbers = np.arange(9.0)
    for name in ("x.pt", "x.bin"):
        torch.save({"w": torch.from_numpy(numbers)}, folder / name)
    memory = io.BytesIO()
    for file in (folder / "x.h5", memory):
        with h5py.File(file, "w") as root:
            root["w"] = numbers
    with zipfile.ZipFile(folder / "x.keras", "w") as archive:
        archive.writestr("model.weights.h5", memory.getvalue())


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """Return the loaded files, and the system calls that strace recorded."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    home = tmp_path_factory.mktemp("loads")
    (home / "others").mkdir()
    write_others(home / "others")
    calls = "trace=%network,%process,stat,newfstatat"
    trace = ["strace", "-f", "-o", home / "log", "-e", calls]
    done = subprocess.run(
        [*trace, sys.executable, "-c", LOADING_SCRIPT, home],
        check=False, capture_output=True, text=True, cwd=REPOSITORY,
    )  # fmt: skip
    if "Operation not permitted" in done.stderr:
        pytest.skip("this machine does not let processes be traced")
    assert done.returncode == 0, done.stderr
    log = (home / "log").read_text(errors="replace")
    return done.stdout.splitlines(), log.partition(f'"{home}/now"')[2]


def test_no_load_opens_a_connection_or_starts_a_program(traced):
    loaded, calls = traced
    assert len(loaded) >= 21
    assert {"x.pt", "x.bin", "x.h5", "x.keras"} < {*loaded}
    assert calls
    strange = r"^\d+ +(execve\w*|v?fork|socket\w*|connect|bind|listen|send\w*|recv\w*)\("
    assert re.findall(strange, calls, re.MULTILINE) == []
