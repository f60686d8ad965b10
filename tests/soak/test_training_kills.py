"""Training runs that are killed and resumed end with the same bits as other runs."""

import re
import subprocess
import sys
from pathlib import Path

TRAINING_SCRIPT = Path(__file__).parents[1] / "journey" / "kill_at_random.py"
KILL_COUNT = 300


def test_training_runs_killed_at_random_end_with_the_same_bits(tmp_path):
    command = [sys.executable, TRAINING_SCRIPT, str(KILL_COUNT), "300", tmp_path]
    done = subprocess.run(
        command, check=True, timeout=3600, stdout=subprocess.PIPE, text=True
    )
    kills, _, within = map(int, re.findall(r"\d+", done.stdout))
    assert kills >= KILL_COUNT
    assert within > KILL_COUNT / 4
