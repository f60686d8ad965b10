"""Time the reading of a VCF file with many samples, and measure the memory of a stream."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TypeAlias

from benchmarks._measure import REPOSITORY_ROOT, full_or_quick
from benchmarks.variants._files import BLOCK_RECORDS, write_bgzip

Reader: TypeAlias = Callable[..., float]

READERS_FILE = Path(__file__).with_name("_readers.py")
RECORDS, CHECKED_RECORDS = full_or_quick((100_000, 2000), (5000, 500))
STREAMED_BLOCKS = full_or_quick((50, 500), (5, 50))
ROUNDS = full_or_quick(5, 3)
THREAD_COUNTS = (1, 2)
READING_COLUMNS = (
    "VCF of 2,504 samples",
    "seqloom, s",
    "bcftools, s",
    "cyvcf2, s",
    "seqloom / quicker",
)
SITES_FORMAT = r"%CHROM\t%POS\t%REF\t%ALT\n"
TEXT_FORMAT = r"%CHROM\t%POS\t%REF\t%ALT[\t%GT]\n"


def find_python(package: str) -> str | None:
    """Return the interpreter of a package: this one, or one in $SEQLOOM_ORACLES."""
    if find_spec(package):
        return sys.executable
    folder = os.environ.get("SEQLOOM_ORACLES")
    path = folder and Path(folder, f"env-{package}", "bin", "python")
    return str(path) if path and path.exists() else None


def list_missing() -> list[str]:
    """Return the names of programs and packages that are not installed."""
    programs = ["bcftools"] if not shutil.which("bcftools") else []
    packages = ("cyvcf2", "spliceai", "tangermeme")
    return [*programs, *(name for name in packages if find_python(name) is None)]


def reading_rows(folder: Path) -> tuple[list[list[str]], int]:
    """Return the rows of the table, and the bytes of text of the file."""
    _check_readers(folder)
    path = folder / "variants.vcf.gz"
    size = write_bgzip(path, RECORDS)
    rows = [
        _time_readers(path, wanted, threads)
        for wanted in ("sites", "genotypes")
        for threads in THREAD_COUNTS
    ]
    path.unlink()
    return rows, size


def stream_memory(size: int) -> list[tuple[float, int]]:
    """Return bytes of text and peak memory for a short and a long stream.

    Args:
        size: Bytes of text of the file that `reading_rows` read.
    """
    records = [blocks * BLOCK_RECORDS for blocks in STREAMED_BLOCKS]
    return [(size / RECORDS * count, _measure_stream(count)) for count in records]


def _check_readers(folder: Path) -> None:
    """Raise unless all readers find the same columns and genotypes."""
    path = folder / "checked.vcf.gz"
    write_bgzip(path, CHECKED_RECORDS)
    texts = [_run_reader("seqloom", path, "text")]
    if find_python("cyvcf2"):
        texts.append(_run_reader("cyvcf2", path, "text"))
    if shutil.which("bcftools"):
        texts.append(_run("bcftools", "query", "-f", TEXT_FORMAT, str(path)))
    assert all(text == texts[0] for text in texts), "the readers differ"
    assert texts[0].count("\n") == CHECKED_RECORDS


def _time_readers(path: Path, wanted: str, threads: int) -> list[str]:
    """Time all readers alternately, and return a row of the table."""
    readers: dict[str, Reader] = {"seqloom": partial(_time_package, "seqloom")}
    if shutil.which("bcftools"):
        readers["bcftools"] = _time_bcftools
    if find_python("cyvcf2"):
        readers["cyvcf2"] = partial(_time_package, "cyvcf2")
    rounds = [
        {name: read(path, wanted, threads=threads) for name, read in readers.items()}
        for _ in range(ROUNDS)
    ]
    seconds = {name: median(each[name] for each in rounds) for name in readers}
    own = seconds.pop("seqloom")
    label = f"{wanted}, {threads} thread{'s' * (threads > 1)}"
    print(label, own, seconds, flush=True)
    others = [
        f"{seconds[it]:.2f}" if it in seconds else "missing"
        for it in ("bcftools", "cyvcf2")
    ]
    ratio = f"**{own / min(seconds.values()):.2f}**" if seconds else ""
    return [label, f"{own:.2f}", *others, ratio]


def _time_package(package: str, path: Path, wanted: str, *, threads: int) -> float:
    """Return the seconds without the start of the interpreter."""
    found = json.loads(_run_reader(package, path, wanted, threads=threads))
    assert found["records"] == RECORDS
    return found["seconds"]


def _time_bcftools(path: Path, wanted: str, *, threads: int) -> float:
    """Return the seconds of the quicker of two commands."""
    extra = ["--threads", str(threads)] if threads > 1 else []
    view = ["bcftools", "view", *extra, "-Ou", "-o", os.devnull, str(path)]
    commands = [view]
    if wanted == "sites":
        query = ["bcftools", "query", "-f", SITES_FORMAT, "-o", os.devnull, str(path)]
        commands = [query, [*view, "-G"]]
    return min(_time_command(command) for command in commands)


def _time_command(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - start


def _run_reader(package: str, path: Path, wanted: str, *, threads: int = 1) -> str:
    python = find_python(package)
    assert python is not None
    return _run(python, str(READERS_FILE), package, str(path), str(threads), wanted)


def _run(*command: str) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout


def _measure_stream(records: int) -> int:
    """Read a stream from standard input; return the peak memory."""
    module, blocks = "benchmarks.variants._stream", str(records // BLOCK_RECORDS)
    writer = subprocess.Popen(
        [sys.executable, "-m", module, blocks], stdout=subprocess.PIPE, cwd=REPOSITORY_ROOT
    )
    command = [sys.executable, str(READERS_FILE), "seqloom", "-", "1", "genotypes"]
    done = subprocess.run(command, check=True, stdin=writer.stdout, stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.close()
    assert writer.wait() == 0
    found: dict[str, int] = json.loads(done.stdout)
    assert found["records"] == records
    return found["bytes"]
