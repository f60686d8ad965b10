"""Run the kernels of each library in a separate process, one process at a time."""

import json
import subprocess
import sys
from typing import Any

from benchmarks._measure import REPOSITORY_ROOT
from benchmarks.kernels._cases import KernelCase
from benchmarks.tensor._libraries import thread_environment

KERNEL_LIBRARIES = ("seqloom", "torch", "torch.compile")


class KernelProcess:
    """Process that runs the kernels of one library on request.

    Args:
        name: Name of the library.
        threads: Number of threads that the library may use.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        module = "benchmarks.kernels._worker"
        self.process: Any = subprocess.Popen(
            [sys.executable, "-m", module, name, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY_ROOT,
            env=thread_environment(threads),
        )

    def set_case(self, case: KernelCase) -> list[list[float]]:
        """Run a kernel once, and return sampled numbers of its results for comparison."""
        return self._send_request([case.kind, case.shape, case.dtype])

    def measure_call(self, times: int) -> float:
        """Return the mean seconds of one call."""
        return self._send_request(times)

    def measure_lower_bound(self) -> float:
        """Return a lower limit in seconds: the time for copying or multiplying alone."""
        return self._send_request("floor")

    def _send_request(self, what: Any) -> Any:
        self.process.stdin.write(f"{json.dumps(what)}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """End the process by closing its standard input."""
        self.process.stdin.close()
        self.process.wait()
