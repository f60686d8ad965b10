"""Measure the named pages: `python -m benchmarks.comparisons dnaio pyfastx`."""

import sys

from benchmarks.comparisons._suite import main

main(sys.argv[1:])
