"""Those who multiply; each in a process of its own, which sleeps while others work."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._measure import HOME
from benchmarks._processor import is_avx512

RIVAL = Path(__file__).parent / "rival"
CRATES = ("gemm", "faer")
LIBRARIES = ("ours", "OpenBLAS", "torch")


class Shape(NamedTuple):
    """A product: (rows, depth) by (depth, columns); `t` where one is transposed."""

    layout: str
    rows: int
    depth: int
    columns: int
    dtype: str = "float32"

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * self.rows * self.depth * self.columns


class Side:
    """A process that multiplies when it is asked.

    Args:
        name: Of the library.
        threads: How many it may use.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.name, self.threads = name, threads
        if name in CRATES:
            command = [str(_built())]
        else:
            command = [
                sys.executable,
                "-m",
                "benchmarks.products._worker",
                name,
                str(threads),
            ]
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self.process: Any = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=HOME,
            env={**os.environ, **dict.fromkeys(names, str(threads))},
        )

    def seconds(self, shape: Shape, times: int) -> float:
        """Times one product, as the mean of several."""
        words = (shape.dtype, shape.layout, shape.rows, shape.depth, shape.columns)
        line = " ".join(map(str, (self.name, *words, self.threads, times)))
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """Ends the process."""
        self.process.stdin.close()
        self.process.wait()


@cache
def _built() -> Path:
    """Compiles the program of the crates, for the instruction set of this run."""
    features = ["--features", "avx512"] if is_avx512() else []
    target = HOME / "target" / ("rival-avx512" if features else "rival")
    command = ["cargo", "build", "--release", "--quiet", *features]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    subprocess.run(command, check=True, cwd=RIVAL, env=environment)
    return target / "release/rival"
