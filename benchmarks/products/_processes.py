"""Runs the matrix products of each library in a separate process, one process at a time."""

import json
import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._measure import REPOSITORY_ROOT
from benchmarks._processor import uses_avx512

RUST_PROGRAM_FOLDER = Path(__file__).parent / "rival"
RUST_CRATES = ("gemm", "faer") if platform.machine() in {"x86_64", "AMD64"} else ("gemm",)
PYTHON_LIBRARIES = ("ours", "OpenBLAS", "torch")


class ProductShape(NamedTuple):
    """Shape of a matrix product: (rows, depth) times (depth, columns).

    `layout` has one character for each operand: "t" if it is transposed, "n" if it is not.
    """

    layout: str
    rows: int
    depth: int
    columns: int
    dtype: str = "float32"

    def __str__(self) -> str:
        return f"{self.layout} {self.rows} x {self.depth} x {self.columns}"

    @property
    def operations(self) -> int:
        """Return the number of multiplications and additions."""
        return 2 * self.rows * self.depth * self.columns


class ProductProcess:
    """A process in which one library computes products on request.

    Args:
        name: The name of the library.
        threads: The number of threads that the library may use.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.name, self.threads = name, threads
        if name in RUST_CRATES:
            command = [str(_build_rust_program())]
        else:
            command = [
                sys.executable,
                "-m",
                "benchmarks.products._worker",
                name,
                str(threads),
            ]
        variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self.process: Any = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY_ROOT,
            env={**os.environ, **dict.fromkeys(variables, str(threads))},
        )

    def measure(self, shape: ProductShape, repetitions: int) -> float:
        """Return the mean time of one product in seconds, over several repetitions."""
        fields = (shape.dtype, shape.layout, shape.rows, shape.depth, shape.columns)
        line = " ".join(map(str, (self.name, *fields, self.threads, repetitions)))
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """Close the standard input of the process, and wait until the process ends."""
        self.process.stdin.close()
        self.process.wait()


@cache
def _build_rust_program() -> Path:
    """Compile the Rust program that calls the crates, for this run's instruction set."""
    features = ["--features", "avx512"] if uses_avx512() else []
    target = REPOSITORY_ROOT / "target" / ("rival-avx512" if features else "rival")
    command = ["cargo", "build", "--release", "--quiet", *features]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    subprocess.run(command, check=True, cwd=RUST_PROGRAM_FOLDER, env=environment)
    return target / "release/rival"
