"""Time selected training steps: python -m benchmarks.tensor --only MLP --threads 1."""

import argparse
from typing import Any

from benchmarks.tensor._libraries import BUILDER_OF_LIBRARY
from benchmarks.tensor._networks import CPU_NETWORKS, NETWORKS
from benchmarks.tensor._processes import (
    LibraryFailed,
    measure_memory,
    measure_speeds,
    median_step_ms,
)


def main() -> None:
    """Parse the arguments and print the measured times."""
    wanted = _parse_arguments()
    for network in wanted.only:
        for threads in wanted.threads:
            _print_speeds(wanted, network, threads)
            if wanted.memory:
                _print_memory(wanted, network, threads)


def _parse_arguments() -> Any:
    parser = argparse.ArgumentParser("python -m benchmarks.tensor", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(CPU_NETWORKS))
    default = ["floor", "numpy", "numpy compiled", "torch eager"]
    parser.add_argument("--sides", nargs="+", choices=BUILDER_OF_LIBRARY, default=default)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--memory", action="store_true", help="measure ten steps' memory")
    return parser.parse_args()


def _print_speeds(wanted: Any, network: str, threads: int) -> None:
    options = {"threads": threads, "dropout": wanted.dropout, "rounds": wanted.rounds}
    found = measure_speeds(wanted.sides, network, **options)
    beside = found.get("torch eager", {})
    for side, each in found.items():
        print(
            f"{network}, {threads} threads, {side}:",
            _describe_library_times(each, beside),
            flush=True,
        )


def _describe_library_times(found: dict[str, Any], beside: dict[str, Any]) -> str:
    if "failed" in found:
        return f"failed: {found['failed']}"
    times = f"{median_step_ms(found):.2f} ms, least {1000 * min(found['seconds']):.2f}"
    if "seconds" in beside:
        times += f", {median_step_ms(found) / median_step_ms(beside):.2f}x torch eager"
    return f"{times}; losses {', '.join(f'{loss:.6f}' for loss in found['losses'])}"


def _print_memory(wanted: Any, network: str, threads: int) -> None:
    for side in wanted.sides:
        try:
            told = f"{measure_memory(side, network, threads) / 1e6:.1f} MB"
        except LibraryFailed as failure:
            told = f"failed: {failure}"
        print(f"{network}, {threads} threads, {side}: ten steps add {told}", flush=True)


if __name__ == "__main__":
    main()
