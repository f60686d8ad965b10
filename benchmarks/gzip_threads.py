"""Read a gzip file on all cores: with an index, in the first epoch, in later epochs."""

import json
import os
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks._measure import full_or_quick, time_alternately
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks._reads import write_proteins, write_reads
from benchmarks.fastx import build_lower_bound_program, read_with_dnaio
from seqloom.io import build_index, open_sequences

READS, PROTEINS = full_or_quick((600_000, 150_000), (200_000, 50_000))
BATCH_RECORDS = 4096
ROUNDS = full_or_quick(5, 3)
THREADS = os.cpu_count() or 1
NOTES = f"""
The files have {READS:,} reads of 150 bases, or {PROTEINS:,} proteins in lines of 60
residues, compressed by zlib at level 6 into one gzip member. Speed-ups of the floors are
relative to decompression with one thread. Times are medians of {ROUNDS} rounds.
"""
LOWER_BOUND_LABELS = {
    "unpack": "decompression only, one thread",
    "positions": f"floor: decompression only, index, {THREADS} threads",
}


def main(reads: int = READS, proteins: int = PROTEINS) -> None:
    """Create files with and without an index, and time all readers in turns."""
    floors = build_lower_bound_program()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        columns = {
            "FASTQ": _time_readers(write_reads(home, reads)["gzip"], floors),
            "FASTA": _time_readers(write_proteins(home, proteins)["gzip"], floors),
        }
    names = next(iter(columns.values()))
    rows = [
        (name, *(_format_cell(each, name) for each in columns.values())) for name in names
    ]
    head = ("seconds (speed-up over one thread)", *columns)
    text = markdown_table(head, rows)
    text += f"\n\n{describe_machine('numpy', 'dnaio', 'isal', 'seqloom')}"
    publish_section("gzip", text, notes=NOTES)


def _time_readers(path: Path, floors: Path) -> dict[str, float]:
    """Return the median seconds of each reader and of the lower bounds."""
    known = path.with_name(f"known_{path.name}")
    shutil.copy(path, known)
    build_index(known)
    works = {
        "seqloom, one thread": partial(_read_with_seqloom, path, 1),
        f"seqloom, first epoch, {THREADS} threads": partial(_read_without_index, path),
        f"seqloom, later epochs, {THREADS} threads": partial(
            _read_with_seqloom, path, THREADS
        ),
        f"seqloom, index, {THREADS} threads": partial(_read_with_seqloom, known, THREADS),
        "dnaio, decompression thread": partial(read_with_dnaio, path, threads=1),
    }
    found = {name: work() for name, work in works.items()}
    assert len(set(found.values())) == 1, f"{path.name}: not the same: {found}"
    rounds = [
        {
            **{name: times[0] for name, times in time_alternately(works, rounds=1).items()},
            **_time_decompression(floors, known),
        }
        for _ in range(ROUNDS)
    ]
    return {name: median(seconds[name] for seconds in rounds) for name in rounds[0]}


def _read_with_seqloom(path: Path, threads: int) -> tuple[int, int]:
    """Read headers, sequences and qualities as columns."""
    records = letters = 0
    with open_sequences(path, num_threads=threads) as reader:
        for batch in reader.batches(BATCH_RECORDS):
            records += len(batch)
            letters += int(batch.sequences.offsets[-1])
    return records, letters


def _read_without_index(path: Path) -> tuple[int, int]:
    """Read a file with a new modification time, so that stored positions are ignored."""
    os.utime(path)
    return _read_with_seqloom(path, THREADS)


def _time_decompression(program: Path, path: Path) -> dict[str, float]:
    """Measure once how long decompression takes without parsing."""
    command = [str(program), "1", str(THREADS), str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return {words: found[name][0] for name, words in LOWER_BOUND_LABELS.items()}


def _format_cell(seconds: dict[str, float], name: str) -> str:
    """Format a time, and the speed-up over one thread."""
    is_floor = name in LOWER_BOUND_LABELS.values()
    base = seconds[LOWER_BOUND_LABELS["unpack"] if is_floor else "seqloom, one thread"]
    return f"{seconds[name]:.3f} ({base / seconds[name]:.2f})"
