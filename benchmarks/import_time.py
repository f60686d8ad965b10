"""Measure how much time `import seqloom` adds to `import numpy`."""

import subprocess
import sys
from statistics import median

from benchmarks._page import describe_machine, markdown_table, publish_section

ROUNDS = 15
MAX_IMPORT_MS = 40
TIMED_STATEMENTS = {
    "import numpy": "import numpy",
    "import numpy, seqloom": "import numpy, seqloom",
}


def main() -> None:
    """Time both statements in new interpreters, alternating."""
    seconds: dict[str, list[float]] = {name: [] for name in TIMED_STATEMENTS}
    for _ in range(ROUNDS + 1):
        for name, statement in TIMED_STATEMENTS.items():
            seconds[name].append(_time_in_new_process(statement))
    # The first round loads the files into the page cache.
    numpy, both = (1000 * median(times[1:]) for times in seconds.values())
    rows = [
        ("`import numpy`", f"{numpy:.1f}"),
        ("`import numpy, seqloom`", f"{both:.1f}"),
        (f"added by seqloom (limit {MAX_IMPORT_MS} ms)", f"**{both - numpy:.1f}**"),
    ]
    head = ("median of 15 fresh interpreters, interleaved", "ms")
    publish_section(
        "import", f"{markdown_table(head, rows)}\n\n{describe_machine('numpy', 'seqloom')}"
    )


def _time_in_new_process(statement: str) -> float:
    """Return the seconds of a statement in a new interpreter."""
    code = (
        f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return float(done.stdout)
