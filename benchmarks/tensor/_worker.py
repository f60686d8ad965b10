"""Worker process that runs one library, as requested by lines on standard input."""

import json
import sys
import time
from typing import Any

from benchmarks._measure import peak_memory_increase
from benchmarks.tensor._libraries import BUILDER_OF_LIBRARY
from benchmarks.tensor._networks import MeasurementSetup, draw_batch


class NetworkWorker:
    """One library's implementation of a network, with a batch.

    Args:
        side: Name of the implementation.
        setup: Fields of a `Setup`, by name.
    """

    def __init__(self, side: str, setup: dict[str, Any]) -> None:
        it = MeasurementSetup(**setup)
        self.name = side
        self.side: Any = BUILDER_OF_LIBRARY[side](it)
        self.batch = self.side.prepare_batch(draw_batch(it.network))

    def compute_losses(self, steps: int) -> list[float]:
        """Run steps and return their losses."""
        return [self.side.step(self.batch) for _ in range(steps)]

    def time_steps(self, steps: int) -> float:
        """Run steps and return the mean seconds per step."""
        start = time.perf_counter()
        self.compute_losses(steps)
        return (time.perf_counter() - start) / steps

    def run_first_steps(self, steps: int) -> dict[str, Any]:
        """Run the first steps; return their losses, and the seconds of the first step."""
        start = time.perf_counter()
        loss = self.side.step(self.batch)
        seconds = time.perf_counter() - start
        return {"losses": [loss, *self.compute_losses(steps - 1)], "seconds": seconds}

    def time_unsynchronised_steps(self, steps: int) -> float:
        """Run steps without reading their losses, and return the mean seconds per step."""
        start = time.perf_counter()
        for _ in range(steps):
            self.side.start_step(self.batch)
        self.side.wait_for_device()
        return (time.perf_counter() - start) / steps

    def measure_device_memory(self, steps: int) -> int | None:
        """Run steps and return the memory used on a CUDA device; None without a device."""
        self.time_unsynchronised_steps(steps)
        if "jax" in self.name:
            import jax

            stats = jax.devices()[0].memory_stats() or {}
            return stats.get("peak_bytes_in_use")
        import torch

        # Allocated memory excludes CUDA graphs, so use the reserved memory.
        return torch.cuda.max_memory_reserved() if torch.cuda.is_available() else None

    def measure_memory_increase(self, steps: int) -> int:
        """Run steps and return the increase in peak memory, in bytes."""
        return peak_memory_increase(lambda: self.compute_losses(steps))


def main(settings: str) -> None:
    """Run the method that each input line requests, and print its result as JSON."""
    worker = NetworkWorker(**json.loads(settings))
    print("ready", flush=True)
    for line in sys.stdin:
        method, steps = line.split()
        print(json.dumps(getattr(worker, method)(int(steps))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
