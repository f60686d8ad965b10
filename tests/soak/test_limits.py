"""A loader does not exhaust open files or memory."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

import loader_user as user

KEEP_ALL_BATCHES_SCRIPT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
import loader_user
from seqloom.data import DataLoader
if __name__ == "__main__":
    loader = DataLoader(range(20_000), 4, collate_fn=loader_user.arrays, num_workers=2,
                        multiprocessing_context=sys.argv[1], output=sys.argv[2])
    batches = list(loader)
    assert len(batches) == 5_000
    assert [int(x) for batch in batches for x in batch["x"][:, 0]] == list(range(20_000))
    print("whole")
"""

MEMORY_RATIO_SCRIPT = """
import gc, sys
import loader_user
from pathlib import Path
from seqloom.data import DataLoader

def resident(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096

if __name__ == "__main__":
    loader = DataLoader(range(40_000), 16, True, collate_fn=loader_user.arrays_with_pid,
                        num_workers=4, persistent_workers=True)
    sizes = []
    for _ in range(10):
        pids = {batch["pid"] for batch in loader}
        gc.collect()
        sizes.append(resident("self") + sum(map(resident, pids)))
    loader.close()
    print(sizes[-1] / sizes[1])
"""


def _run(tmp_path, text, *args):
    script = tmp_path / "script.py"
    script.write_text(text)
    paths = os.pathsep.join([str(Path(user.__file__).parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, str(script), *args],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    return done.stdout.strip()


@pytest.mark.parametrize("output", ["numpy", "torch"])
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_process_limited_to_256_open_files_can_keep_5000_batches(
    tmp_path, method, output
):
    assert _run(tmp_path, KEEP_ALL_BATCHES_SCRIPT, method, output) == "whole"


def test_the_memory_of_worker_processes_is_constant_over_ten_epochs(tmp_path):
    gc.collect()
    assert float(_run(tmp_path, MEMORY_RATIO_SCRIPT)) < 1.02
