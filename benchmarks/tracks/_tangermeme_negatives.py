"""Time negatives of tangermeme: ``python _tangermeme_negatives.py BED FASTA WIDTH JOBS``.

The program runs in the environment of tangermeme and imports nothing else of this
project. It prints the seconds, and the mean G+C content of the negatives.
"""

import json
import sys
import time
from importlib import import_module

match = import_module("tangermeme.match")


def _main(peaks: str, genome: str, *, width: int, jobs: int) -> None:
    """Time the second call; the first one indexes the genome and starts the processes."""
    options = {"in_window": width, "random_state": 0, "n_jobs": jobs}
    match.extract_matching_loci(peaks, genome, **options)
    start = time.perf_counter()
    found = match.extract_matching_loci(peaks, genome, **options)
    seconds = time.perf_counter() - start
    fasta = import_module("pyfaidx").Fasta(genome, sequence_always_upper=True)
    texts = [fasta[row.chrom][row.start : row.end].seq for row in found.itertuples()]
    gc = sum((text.count("G") + text.count("C")) / len(text) for text in texts) / len(texts)
    print(json.dumps({"seconds": seconds, "gc": gc}))


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], width=int(sys.argv[3]), jobs=int(sys.argv[4]))
