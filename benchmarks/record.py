"""Save and load a model of 1 GB with seqloom, safetensors and torch."""

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks._measure import (
    REPOSITORY_ROOT,
    full_or_quick,
    read_blocks,
    run_module,
    time_alternately,
    touch_memory,
)
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks._record_libraries import (
    MEMORY_TASKS,
    SEQLOOM_NAME,
    SIDE,
    TENSORS,
    Arrays,
    load_functions,
    make_weight_arrays,
    read_all_pages,
    save_functions,
)

ROUNDS = full_or_quick(5, 3)
TENSOR_BYTES = SIDE * SIDE * 4
MODEL_BYTES = TENSORS * TENSOR_BYTES
LOWER_BOUND_LABEL = "floor: the file in blocks"
NOTES = f"""
The model has {TENSORS} tensors of {TENSOR_BYTES / 1e6:.1f} MB, {MODEL_BYTES / 1e9:.2f} GB
in total. Times are medians of {ROUNDS} rounds, with files in the page cache. All libraries
sync their files and folders. seqloom writes a new file, renames it, and verifies checksums.
With `mapped=True`, no checksums are verified; compare that row with the other memory-mapped
files.
"""


def main() -> None:
    """Save and load with all libraries in turns, on the disk of this repository."""
    folder = REPOSITORY_ROOT / "target"
    folder.mkdir(exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=folder, prefix="bench_record_"))
    try:
        touch_memory()
        arrays = make_weight_arrays()
        saved = _time_saves(home, arrays)
        touch_memory()  # The system can now use this memory for the page cache.
        loaded = _time_loads(home, arrays)
        del arrays
        memory = {
            name: run_module("benchmarks._record_libraries", str(home), name)
            for name in MEMORY_TASKS
        }
    finally:
        shutil.rmtree(home)
    shown = (
        r"(fsync|touch|save|load): (seqloom|safetensors.numpy|torch)"
        r"(, mapped=True|\.\w+)*(, weights_only)?(, mmap)? \|"
    )
    publish_section(
        "record",
        _result_tables(saved, loaded, memory),
        notes=NOTES,
        shown=shown,
        hidden="peak",
    )


def _time_saves(home: Path, arrays: Arrays) -> dict[str, float]:
    """Time how long each library saves; removing the previous file is not timed."""
    sides = save_functions(home, arrays)
    rounds = []
    for _ in range(ROUNDS):
        seconds: dict[str, float] = {}
        for name, (path, save) in sides.items():
            path.unlink(missing_ok=True)
            os.sync()  # frees the disk space of the removed file before the measurement
            seconds |= {name: time_alternately({name: save}, rounds=1)[name][0]}
        rounds.append(seconds)
    return {name: median(each[name] for each in rounds) for name in sides}


def _time_loads(home: Path, arrays: Arrays) -> dict[str, float]:
    """Check that all libraries load the same numbers, and time how long each loads."""
    sides = load_functions(home)
    for name, load in sides.items():
        found = load()
        assert found.keys() == arrays.keys(), name
        assert all(np.array_equal(found[path], arrays[path]) for path in arrays), name
        del found
    works: dict[str, Any] = {
        name: _load_and_read_pages(load) for name, load in sides.items()
    }
    works[LOWER_BOUND_LABEL] = lambda: read_blocks(home / "ours.safetensors")
    return {
        name: median(each) for name, each in time_alternately(works, rounds=ROUNDS).items()
    }


def _load_and_read_pages(load: Any) -> Any:
    """Return a function that loads a record and reads every memory page."""
    return lambda: read_all_pages(load())


def _result_tables(
    saved: Mapping[str, float], loaded: Mapping[str, float], memory: Mapping[str, int]
) -> str:
    """Return the tables of times and of memory."""
    rows = [*_task_rows("save, with fsync", saved), *_task_rows("load and touch", loaded)]
    times = markdown_table(("", "seconds", "GB/s", "seqloom / this"), rows)
    peaks = markdown_table(
        ("peak memory", "MB", "in models of float32", "in tensors"),
        [
            (
                name,
                f"{size / 1e6:.0f}",
                f"{size / MODEL_BYTES:.3f}",
                f"{size / TENSOR_BYTES:.2f}",
            )
            for name, size in memory.items()
        ],
    )
    packages = describe_machine("numpy", "safetensors", "torch", "seqloom")
    return f"{times}\n\n{peaks}\n\n{packages}"


def _task_rows(what: str, seconds: Mapping[str, float]) -> Sequence[Sequence[str]]:
    """Return the rows of one task; memory-mapped loads are compared with each other."""
    mapped = seconds.get(f"{SEQLOOM_NAME}, mapped=True", seconds[SEQLOOM_NAME])
    return [
        (
            f"{what}: {name}",
            f"{each:.3f}",
            f"{MODEL_BYTES / 1e9 / each:.2f}",
            ""
            if name.startswith(SEQLOOM_NAME)
            else f"**{(mapped if 'mmap' in name else seconds[SEQLOOM_NAME]) / each:.2f}**",
        )
        for name, each in seconds.items()
    ]


if __name__ == "__main__":
    main()
