"""Run the named suites, or all suites; ``--simd avx2`` limits every library to AVX2."""

import argparse
import os
import sys
from importlib import import_module

from benchmarks._compare_commits import compare_with_commit
from benchmarks._measure import QUICK_RUN_VARIABLE
from benchmarks._processor import INSTRUCTION_LIMITS, limit_instruction_set

# Suite name -> module, fastest suite first.
MODULE_OF_SUITE = {
    "import": "benchmarks.import_time",
    "read_fasta": "benchmarks.read_fasta",
    "fastx": "benchmarks.fastx",
    "gzip": "benchmarks.gzip_threads",
    "loader": "benchmarks.loader",
    "pack": "benchmarks.pack",
    "bed": "benchmarks.bed",
    "bed_stats": "benchmarks.bed_stats",
    "record": "benchmarks.record",
    "products": "benchmarks.products",
    "optim": "benchmarks.optim",
    "recurrent": "benchmarks.recurrent",
    "spliceai": "benchmarks.spliceai",
    "tracks": "benchmarks.tracks",
    "kernels": "benchmarks.kernels",
    "infer": "benchmarks.infer",
    "gpu": "benchmarks.gpu",
    "run": "benchmarks.run",
    "ribodetector": "benchmarks.ribodetector",
    "variants": "benchmarks.variants",
    "compile": "benchmarks.first_call",
    "train_cnn": "benchmarks.train_cnn",
    "scale": "benchmarks.scale",
    "tensor": "benchmarks.tensor",
    "demo": "benchmarks.demo",
    "learning": "benchmarks.learning",
    "comparisons": "benchmarks.comparisons",
}


def main() -> None:
    """Run suites one after another, so that nothing else runs during a measurement."""
    wanted = _parse_arguments()
    if wanted.simd:
        limit_instruction_set(wanted.simd)
    if wanted.quick or wanted.against is not None:
        os.environ[QUICK_RUN_VARIABLE] = "1"  # suites read this variable at import
    if wanted.against is not None:
        compare_with_commit(wanted.against, wanted.suites)
        return
    for name in wanted.suites or MODULE_OF_SUITE:
        import_module(MODULE_OF_SUITE[name]).main()


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=", ".join(MODULE_OF_SUITE)
    )
    parser.add_argument(
        "--simd", choices=INSTRUCTION_LIMITS, help="the instruction set of every library"
    )
    parser.add_argument(
        "--quick", action="store_true", help="at most 3 minutes a suite; writes no page"
    )
    parser.add_argument(
        "--against",
        metavar="COMMIT",
        help="measure seqloom alone, on this commit and on the working tree in turn",
    )
    wanted = parser.parse_args()
    unknown = sorted(set(wanted.suites) - set(MODULE_OF_SUITE))
    if unknown:
        known = ", ".join(MODULE_OF_SUITE)
        sys.exit(f"no suite is called {', '.join(unknown)}; there are: {known}")
    return wanted


if __name__ == "__main__":
    main()
