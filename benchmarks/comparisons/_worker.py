"""Run code of a page in this new interpreter and print the elapsed seconds.

The code first runs on the small input, so that the time excludes imports and first calls.
"""

import json
import os
import sys
import time
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory


def main(threads: str, small: str, large: str, *files: str) -> None:
    """Run files of code in order, on both inputs, with the given number of threads."""
    if threads:  # both libraries read this variable at start
        os.environ["OMP_NUM_THREADS"] = threads
    code = "".join(Path(file).read_text("utf-8") for file in files)
    _time_code(code, small)
    print(json.dumps(_time_code(code, large)))


def _time_code(code: str, made: str) -> float:
    """Time code in a copy of the inputs, so that runs do not share output files."""
    with TemporaryDirectory() as folder:
        os.chdir(copytree(made, folder, dirs_exist_ok=True))
        start = time.perf_counter()
        exec(compile(code, "<page>", "exec"), {"__name__": "__main__"})  # noqa: S102  # our own pages
        seconds = time.perf_counter() - start
        os.chdir(made)
    return seconds


if __name__ == "__main__":
    main(*sys.argv[1:])
