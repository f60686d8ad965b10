"""The published tool RiboDetector: its network file, command, and paired reads."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from fastx import real

READ_LENGTH = 100
# Residues in FASTQ as the tool reads them.
READ_ENCODER = sl.encode.OneHot(
    "dna", channels="last", unknown="zeros", case="mask", rna_as_dna=True, symbols="zeros"
)
RIBODETECTOR_COMMAND = "from ribodetector.detect_cpu import main; main()"


def published():
    """Return the network's file; skip the test if the package is not installed."""
    pytest.importorskip("onnxruntime")
    spec = find_spec("ribodetector")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("ribodetector is not installed: uv pip install --no-deps ribodetector")
    return Path(spec.submodule_search_locations[0], "data", "model_len70_101.onnx")


def decide(folder, pair, *, more=()):
    """Run the tool's command; return the ids of pairs that are classified as ribosomal."""
    outputs = {
        name: [folder / f"{name}{mate}.fq" for mate in (1, 2)] for name in ("o", "r")
    }
    files = [*("-i", *pair), *("-o", *outputs["o"]), *("-r", *outputs["r"])]
    command = [
        sys.executable,
        "-c",
        RIBODETECTOR_COMMAND,
        "-t",
        "1",
        "-l",
        str(READ_LENGTH),
        *files,
        *more,
    ]
    subprocess.run(
        [*map(str, command), "--log", str(folder / "log")], check=True, capture_output=True
    )
    names = outputs["r"][0].read_text().splitlines()[::4]
    return {name.removeprefix("@").split("/")[0] for name in names}


def write_pairs(folder, count, *, seed=0):
    """Write mates of ribosomal and other sequences, of many lengths, some with N."""
    rng = np.random.default_rng(seed)
    ribosomal = _letters("28S.fasta")
    genome = _letters("GCF_000005845.2_ASM584v2_genomic.fna.gz")[:1]
    paths = [folder / f"reads{mate}.fq" for mate in (1, 2)]
    files = [path.open("w") for path in paths]
    for number in range(count):
        source = ribosomal if number % 2 else genome
        for mate, file in enumerate(files, 1):
            read = _draw(rng, source)
            file.write(f"@pair{number}/{mate}\n{read}\n+\n{'I' * len(read)}\n")
    for file in files:
        file.close()
    return paths


def _letters(name):
    """Return the DNA sequences of a file of genomes."""
    with sl.io.open_sequences(real("genomes", name)) as reader:
        return [bytes(it.sequence).upper().replace(b"U", b"T") for it in reader]


def _draw(rng, source):
    """Generate a read; most reads have the network's input length, and some end in N."""
    sequence = source[rng.integers(len(source))]
    length = min(
        len(sequence), READ_LENGTH if rng.random() < 0.5 else rng.integers(30, 160)
    )
    start = rng.integers(len(sequence) - length + 1)
    read = bytearray(sequence[start : start + length])
    if rng.random() < 0.2:
        read[rng.integers(length)] = ord("N")
    if rng.random() < 0.1:
        read[-3:] = b"NNN"
    return read.decode()
