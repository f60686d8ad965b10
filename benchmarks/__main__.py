"""Runs the suites that are named, or all."""

import sys
from importlib import import_module

# The name that a person types, and the module that does it, quickest first.
SUITES = {
    "import": "benchmarks.import_time",
    "logistic": "benchmarks.logistic",
    "read_fasta": "benchmarks.read_fasta",
    "fastx": "benchmarks.fastx",
    "loader": "benchmarks.loader",
    "bed": "benchmarks.bed",
    "bed_stats": "benchmarks.bed_stats",
    "train_cnn": "benchmarks.train_cnn",
    "tensor": "benchmarks.tensor",
    "demo": "benchmarks.demo",
    "splice_cv": "benchmarks.splice_cv",
    "genotype_mlp": "benchmarks.genotype_mlp",
    "mutational_scan": "benchmarks.mutational_scan",
}


def main(names: list[str]) -> None:
    """Runs suites one after another; nothing is measured beside anything else."""
    unknown = sorted(set(names) - set(SUITES))
    if unknown:
        sys.exit(f"no suite is called {', '.join(unknown)}; there are: {', '.join(SUITES)}")
    for name in names or SUITES:
        import_module(SUITES[name]).main()


if __name__ == "__main__":
    main(sys.argv[1:])
