"""Read FASTQ and FASTA with seqloom and other readers, and measure lower bounds."""

import gzip
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from statistics import median
from typing import Any, TextIO, TypeAlias

from benchmarks._measure import (
    REPOSITORY_ROOT,
    full_or_quick,
    time_alternately,
    touch_memory,
)
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks._reads import write_proteins, write_reads
from seqloom.io import open_sequences

Sums: TypeAlias = tuple[int, int]
Side: TypeAlias = Callable[[Path], Sums]
Seconds: TypeAlias = dict[str, float]

READS, PROTEINS = full_or_quick((1_000_000, 50_000), (150_000, 10_000))
BATCH_RECORDS = 4096
ROUNDS = full_or_quick(5, 3)
THREADS = os.cpu_count() or 1
NOTES = f"""
The files are in the page cache: {READS:,} reads of 150 bases with realistic qualities, and
{PROTEINS:,} proteins in lines of 60 residues, with gzip level 6. Times are medians of
{ROUNDS} rounds. Each library reads headers, sequences and qualities. seqloom has already
read each gzip file once, so several threads can decompress it; the next section measures a
first pass.
"""
LOWER_BOUND_LABELS = {
    "read": "floor: reading the file in blocks",
    "lines": "floor: counting line ends",
    "unpack": "floor: decompression only, one thread",
}


def main(reads: int = READS, proteins: int = PROTEINS) -> None:
    """Create files, check that all readers count the same residues, then time them."""
    touch_memory()
    floors = build_lower_bound_program()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        files = {
            **{f"FASTQ, {kind}": path for kind, path in write_reads(home, reads).items()},
            **{
                f"FASTA, {kind}": path
                for kind, path in write_proteins(home, proteins).items()
            },
        }
        columns = {name: _time_readers(path, floors) for name, path in files.items()}
    rivals = [name.split(",")[0] for name in READERS if name != "seqloom"]
    packages = describe_machine("numpy", *dict.fromkeys(rivals), "seqloom")
    rows = markdown_table(("seconds (relative to seqloom)", *columns), _table_rows(columns))
    publish_section(
        "fastx",
        f"{rows}\n\n{packages}",
        notes=NOTES,
        shown="seqloom|dnaio|needletail|pyfastx",
    )


def _read_with_seqloom(path: Path) -> Sums:
    """Read columns of headers, sequences and qualities with seqloom."""
    records = letters = 0
    with open_sequences(path) as reader:
        for batch in reader.batches(BATCH_RECORDS):
            records += len(batch)
            letters += int(batch.sequences.offsets[-1])
    return records, letters


def read_with_dnaio(path: Path, *, threads: int) -> Sums:
    """Read with dnaio, the parser of cutadapt."""
    with import_module("dnaio").open(str(path), open_threads=threads) as file:
        return _count_residues(map(len, file))


def _read_with_needletail(path: Path) -> Sums:
    """Read with needletail, a parser in Rust."""
    file = import_module("needletail").parse_fastx_file(str(path))
    return _count_residues(len(record.seq) for record in file)


def _read_with_pyfastx(path: Path) -> Sums:
    """Read with pyfastx, a parser in C, without its index."""
    return _count_residues(
        len(record[1]) for record in import_module("pyfastx").Fastx(str(path))
    )


def _read_with_pysam(path: Path) -> Sums:
    """Read with pysam, the parser of htslib, which reuses one record object."""
    with import_module("pysam").FastxFile(str(path), persist=False) as file:
        return _count_residues(len(record.sequence) for record in file)


def _read_with_polars_bio(path: Path) -> Sums:
    """Read Arrow columns with polars-bio, on all cores."""
    os.environ["TQDM_DISABLE"] = "1"
    library = import_module("polars_bio")
    library.set_option("datafusion.execution.target_partitions", str(THREADS))
    read = library.read_fastq if ".fastq" in path.name else library.read_fasta
    frame = read(str(path))
    return frame.height, int(frame["sequence"].str.len_bytes().sum())


def _read_with_biopython(path: Path) -> Sums:
    """Read with the fastest parsers of Biopython, which return tuples."""
    with _open_text(path) as file:
        if ".fastq" in path.name:
            records = import_module("Bio.SeqIO.QualityIO").FastqGeneralIterator(file)
        else:
            records = import_module("Bio.SeqIO.FastaIO").SimpleFastaParser(file)
        return _count_residues(len(record[1]) for record in records)


def _open_text(path: Path) -> TextIO:
    """Open an uncompressed or gzip file as text."""
    packed = path.suffix in {".gz", ".bgz"}
    return TextIOWrapper(gzip.open(path)) if packed else path.open(encoding="ascii")


def _count_residues(lengths: Iterable[int]) -> Sums:
    """Count records and residues."""
    records = letters = 0
    for length in lengths:
        records += 1
        letters += length
    return records, letters


READERS: dict[str, Side] = {
    "seqloom": _read_with_seqloom,
    "dnaio, one thread": partial(read_with_dnaio, threads=0),
    "dnaio, decompression thread": partial(read_with_dnaio, threads=1),
    "needletail": _read_with_needletail,
    "pyfastx": _read_with_pyfastx,
    "pysam": _read_with_pysam,
    f"polars-bio, {THREADS} threads": _read_with_polars_bio,
    "biopython": _read_with_biopython,
}


def _time_readers(path: Path, floors: Path) -> Seconds:
    """Return the median seconds of each reader and of the lower bounds."""
    found = {name: side(path) for name, side in READERS.items()}
    assert len(set(found.values())) == 1, f"{path.name}: not the same: {found}"
    works = {name: partial(side, path) for name, side in READERS.items()}
    rounds = [
        {
            **{name: times[0] for name, times in time_alternately(works, rounds=1).items()},
            **measure_lower_bounds(floors, path),
        }
        for _ in range(ROUNDS)
    ]
    return {name: median(seconds[name] for seconds in rounds) for name in rounds[0]}


def build_lower_bound_program() -> Path:
    """Build the program that measures the lower bounds."""
    command = ["cargo", "build", "--release", "--quiet", "--example", "floors"]
    subprocess.run(
        [*command, "--package", "seqloom-index"], check=True, cwd=REPOSITORY_ROOT
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY_ROOT / "target"))
    return target / "release/examples/floors"


def measure_lower_bounds(program: Path, path: Path) -> Seconds:
    """Measure the lower bounds once."""
    command = [str(program), "1", "1", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return {words: found[name][0] for name, words in LOWER_BOUND_LABELS.items()}


def _table_rows(columns: dict[str, Seconds]) -> list[tuple[str, ...]]:
    """Return a table row for each reader."""
    names = next(iter(columns.values()))
    return [
        (name, *(_format_cell(each, name) for each in columns.values())) for name in names
    ]


def _format_cell(seconds: Seconds, name: str) -> str:
    """Format a time and its ratio to seqloom."""
    return f"{seconds[name]:.3f} ({seconds[name] / seconds['seqloom']:.2f})"
