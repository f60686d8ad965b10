"""Measures the pages that are named: `python -m benchmarks.beside dnaio pyfastx`."""

import sys

from benchmarks.beside._story import main

main(sys.argv[1:])
