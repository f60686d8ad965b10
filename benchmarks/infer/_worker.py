"""Run one library in this process, once for each line of standard input."""

import json
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.infer._inputs import PROTEIN_SETS, InferenceTask
from benchmarks.infer._libraries import PREPARE_FUNCTION_OF_LIBRARY


def main() -> None:
    """Save the first result; then time a call for each line of standard input."""
    side, size, source, count, folder = sys.argv[1:]
    work = PREPARE_FUNCTION_OF_LIBRARY[side](
        InferenceTask(size, Path(folder), PROTEIN_SETS[source](int(count)))
    )
    first = work()
    if first is not None:
        states = [np.asarray(each, "float32") for each in first]
        np.save(Path(folder, f"{side}.npy"), np.concatenate(states))
    print(json.dumps(None), flush=True)
    for _ in sys.stdin:
        start = time.process_time()
        work()
        print(json.dumps(time.process_time() - start), flush=True)


if __name__ == "__main__":
    main()
