"""Time effects of variants against whole passes and against the command of SpliceAI."""

import os
import random
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import seqloom as sl
from benchmarks._measure import full_or_quick, time_call
from benchmarks.spliceai._network import load_example
from benchmarks.variants._networks import make_bpnet
from benchmarks.variants._reading import find_python

EFFECT_COLUMNS = (
    "effects of variants",
    "variants",
    "only changes, ms each",
    "whole passes, ms each",
    "command, ms each",
    "speed",
)
VARIANT_COUNT = full_or_quick(2000, 20)
# The networks of SpliceAI need 0.2 seconds for each variant.
SPLICEAI_COUNT = int(os.environ.get("SEQLOOM_VARIANTS", full_or_quick("2000", "10")))
# Numbers of variants of slower programs; times are for each variant.
WHOLE_COUNT = full_or_quick({"SpliceAI": 40, "BPNet": 300}, {"SpliceAI": 4, "BPNet": 20})
COMMAND_COUNTS = full_or_quick((10, 60), (1, 4))
BPNET_WIDTH, SPLICEAI_WIDTH = 2114, 10_101
SPACING, GENE_LENGTH, MARGIN = 1000, 20_000, 6000
ROUNDS = full_or_quick(3, 1)
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Inputs:
    """Files with a random genome, genes and variants; rows are (start, ref, alts)."""

    genome: Path
    genes: Path
    variants: Path
    sequence: str
    rows: list[tuple[int, str, list[str]]]

    @property
    def alternatives(self) -> list[tuple[int, str, str]]:
        """Start, ref and alt of each alternative allele."""
        return [(start, ref, alt) for start, ref, alts in self.rows for alt in alts]

    @property
    def gene_columns(self) -> dict[str, list[Any]]:
        """The genes, with the column names of intervals."""
        rows = [line.split("\t") for line in self.genes.read_text().splitlines()[1:]]
        names, chroms, strands, starts, stops, *_ = map(list, zip(*rows, strict=True))
        limits = {"start": list(map(int, starts)), "stop": list(map(int, stops))}
        return {"name": names, "chrom": chroms, "strand": strands, **limits}


def effect_rows(folder: Path) -> list[list[str]]:
    """Return the rows of the table."""
    few = _write_inputs(folder, "few", alleles=1, count=SPLICEAI_COUNT)
    isolated = _write_inputs(folder, "isolated", alleles=1, count=VARIANT_COUNT)
    shared = _write_inputs(folder, "shared", alleles=5, count=VARIANT_COUNT)
    return [_time_spliceai(few, 2)] + [
        _time_bpnet(inputs, threads, f"{label}, {threads} thread{'s' * (threads > 1)}")
        for threads in (1, 2)
        for inputs, label in ((isolated, "isolated"), (shared, "five at each position"))
    ]


def _time_bpnet(inputs: Inputs, threads: int, label: str) -> list[str]:
    """Time a network like BPNet, and check that both ways give the same effects."""
    trained = make_bpnet(threads)
    part = inputs.alternatives[: WHOLE_COUNT["BPNet"]]
    found = dict[str, np.ndarray]()

    def compute_changes() -> None:
        effects = sl.infer.variant_effects(
            trained,
            inputs.variants,
            inputs.genome,
            width=BPNET_WIDTH,
            num_threads=threads,
        )
        found["changes"] = effects["difference_signal"]

    def compute_whole_passes() -> None:
        found["whole"] = _run_whole_passes(
            [trained.model], inputs.sequence, part, width=BPNET_WIDTH
        )

    own, whole = _time_both(compute_changes, compute_whole_passes)
    np.testing.assert_allclose(
        found["changes"][: len(part)], found["whole"][:, 0], rtol=0, atol=TOLERANCE
    )
    label = f"BPNet-like, {label}"
    return _table_row(label, inputs, own=own, whole=whole / len(part), command="")


def _time_spliceai(inputs: Inputs, threads: int) -> list[str]:
    """Time the five published networks of SpliceAI, and its own command."""
    models = _load_spliceai(threads)
    label = f"SpliceAI, {len(models)} networks, 50 bases around, {threads} threads"
    part = inputs.alternatives[: WHOLE_COUNT["SpliceAI"]]

    def compute_changes() -> None:
        sl.infer.variant_effects(
            models,
            inputs.variants,
            inputs.genome,
            genes=inputs.gene_columns,
            width=SPLICEAI_WIDTH,
            within=50,
            indels="spliceai",
            num_threads=threads,
        )

    def compute_whole_passes() -> None:
        _run_whole_passes(models, inputs.sequence, part, width=SPLICEAI_WIDTH)

    own, whole = _time_both(compute_changes, compute_whole_passes, rounds=1)
    command = _time_command(inputs, threads)
    return _table_row(label, inputs, own=own, whole=whole / len(part), command=command)


def _load_spliceai(threads: int) -> list[Any]:
    """Load the published networks; without them, one network with random weights."""
    example = load_example()
    backend = sl.tensor.backend("numpy", num_threads=threads)
    python = find_python("spliceai")
    if python is None:
        return [example.SpliceAIConfig().init(backend, key=0).eval()]
    program = "import importlib.util as u; print(u.find_spec('spliceai').origin)"
    folder = Path(_output_of(python, "-c", program).strip()).parent / "models"
    paths = [folder / f"spliceai{number}.h5" for number in range(1, 6)]
    return example.load_spliceai(paths, backend)


def _time_both(changes: Any, whole: Any, rounds: int = ROUNDS) -> tuple[float, float]:
    """Return the shortest seconds of both calls, timed alternately."""
    times = [(time_call(changes), time_call(whole)) for _ in range(rounds)]
    own, other = (min(side) for side in zip(*times, strict=True))
    print("effects", own, other, flush=True)
    return own, other


def _run_whole_passes(
    models: Sequence[Any], sequence: str, rows: list[tuple[int, str, str]], *, width: int
) -> np.ndarray:
    """Run the networks on the reference and alternative window of each variant."""
    effects = list[np.ndarray]()
    for start, ref, alt in rows:
        left = start - width // 2
        rest = sequence[start + len(ref) : start + len(ref) + width]
        texts = sequence[left : left + width], (sequence[left:start] + alt + rest)[:width]
        x = np.stack([_one_hot(text) for text in texts])
        outputs = [model(model.backend.tensor(x)).numpy() for model in models]
        before, after = np.mean(outputs, axis=0)
        effects.append(after - before)
    return np.stack(effects)


def _one_hot(text: str) -> np.ndarray:
    letters = np.frombuffer(text.encode(), "u1")
    return np.stack([letters == ord(base) for base in "ACGT"]).astype("float32")


def _time_command(inputs: Inputs, threads: int) -> str:
    """Return the milliseconds of the command for each variant, without its start."""
    python = find_python("spliceai")
    if python is None:
        return "missing"
    lines = inputs.variants.read_text().splitlines(keepends=True)
    head = [line for line in lines if line.startswith("#")]
    seconds = list[float]()
    for count in COMMAND_COUNTS:
        part = inputs.variants.with_suffix(f".{count}.vcf")
        part.write_text("".join(lines[: len(head) + count]))
        command = [str(Path(python).parent / "spliceai"), "-I", str(part)]
        command += ["-O", os.devnull, "-R", str(inputs.genome), "-A", str(inputs.genes)]
        start = time.perf_counter()
        limits = {"OMP_NUM_THREADS": str(threads), "CUDA_VISIBLE_DEVICES": ""}
        subprocess.run(
            command, check=True, capture_output=True, env={**os.environ, **limits}
        )
        seconds.append(time.perf_counter() - start)
    few, many = COMMAND_COUNTS
    return f"{(seconds[1] - seconds[0]) / (many - few) * 1e3:.0f}"


def _output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _table_row(
    label: str, inputs: Inputs, *, own: float, whole: float, command: str
) -> list[str]:
    """Return a row with milliseconds for each alternative allele."""
    count = len(inputs.alternatives)
    own /= count
    times = [f"{own * 1e3:.1f}", f"{whole * 1e3:.1f}", command]
    return [label, f"{count:,}", *times, f"**{whole / own:.2f}x**"]


def _write_inputs(folder: Path, name: str, *, alleles: int, count: int) -> Inputs:
    """Write a random genome, a gene for each 20,000 bases, and variants in genes."""
    drawn = random.Random(1)  # noqa: S311  # not for secrets
    positions = range(MARGIN, MARGIN + SPACING * (count // alleles), SPACING)
    length = positions[-1] + 2 * MARGIN
    sequence = "".join(drawn.choices("ACGT", k=length))
    rows = [
        (start, *_draw_alleles(sequence, start, drawn, count=alleles))
        for start in positions
    ]
    genome, genes, variants = (folder / f"{name}.{kind}" for kind in ("fa", "tsv", "vcf"))
    lines = (sequence[at : at + 60] for at in range(0, length, 60))
    genome.write_text(">chr1\n" + "\n".join(lines) + "\n")
    genes.write_text(_genes_text(length))
    head = f"##fileformat=VCFv4.2\n##contig=<ID=chr1,length={length}>\n"
    head += "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    texts = (
        f"chr1\t{start + 1}\t.\t{ref}\t{','.join(alts)}\t.\t.\t.\n"
        for start, ref, alts in rows
    )
    variants.write_text(head + "".join(texts))
    return Inputs(genome, genes, variants, sequence, rows)


def _draw_alleles(
    sequence: str, start: int, drawn: random.Random, *, count: int
) -> tuple[str, list[str]]:
    """Draw substitutions and insertions; one of five single alleles is a deletion."""
    ref = sequence[start]
    others = [base for base in "ACGT" if base != ref]
    if count > 1:
        ends = drawn.sample(others, count - 3)
        return ref, others + [
            ref + "".join(drawn.choices("ACGT", k=4)) + end for end in ends
        ]
    if drawn.random() < 0.8:
        return ref, [drawn.choice(others)]
    size = next(it for it in range(2, 50) if sequence[start + it] != ref)
    return sequence[start : start + size + 1], [ref]


def _genes_text(length: int) -> str:
    """Return a table of genes, in the format of the command, on both strands."""
    lines = ["#NAME\tCHROM\tSTRAND\tTX_START\tTX_END\tEXON_START\tEXON_END\n"]
    for number, start in enumerate(range(0, length, GENE_LENGTH)):
        end = min(start + GENE_LENGTH, length)
        exons = f"{start},{end - 200},\t{start + 200},{end},"
        lines.append(f"G{number}\tchr1\t{'+-'[number % 2]}\t{start}\t{end}\t{exons}\n")
    return "".join(lines)
