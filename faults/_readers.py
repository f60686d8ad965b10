"""Readers of sequences, indexes, genotypes, records, runs, exported models and tables."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import seqloom as sl
from faults._file_writers import (
    RECORDERS,
    draw_genotypes,
    draw_records,
    write_fasta,
)
from faults._job_writers import DNA, TABLE, _network
from faults._story import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable

MANY = 20_000  # records: several pieces of a reader


# How Python packs what seqloom only reads.
PACKERS = {"xz": lzma.compress, "bz2": bz2.compress}


def _sequences() -> Iterable[Reader]:
    for name in ("x.fa", "x.fa.gz", "x.fa.bgz", "x.fa.xz", "x.fa.bz2"):

        def prepare(place: Path, name: str = name) -> None:
            sl.io.write_sequences(place / "x.fa.bgz", draw_records(1, MANY))
            pack = PACKERS.get(name.rpartition(".")[2])
            if pack is not None:
                text = gzip.decompress((place / "x.fa.bgz").read_bytes())
                (place / name).write_bytes(pack(text))
            elif name != "x.fa.bgz":
                sl.io.write_sequences(place / name, draw_records(1, MANY))

        def read(place: Path, name: str = name) -> list[int]:
            with sl.io.open_sequences(place / name) as records:
                return _sum(str(record.sequence) for record in records)

        yield Reader(f"sequences, {name[2:]}", prepare, read)


def _sum(texts: Iterable[str]) -> list[int]:
    """Counts sequences and adds up what is in them, by its place."""
    number = total = 0
    for number, text in enumerate(texts, 1):  # noqa: B007 - counted
        total += number * sum(text.encode()) + len(text)
    return [number, total]


def _indexed() -> Iterable[Reader]:
    for name in ("x.fa", "x.fa.gz", "x.fa.bgz"):

        def prepare(place: Path, name: str = name) -> None:
            sl.io.write_sequences(place / name, draw_records(1, MANY))
            sl.io.build_index(place / name)

        def read(place: Path, name: str = name) -> list[int]:
            index = sl.io.SequenceIndex(place / name, build=False)
            return _sum(str(index[row].sequence) for row in range(0, MANY, 701))

        yield Reader(f"indexed {name[2:]}", prepare, read)


def _dataset(place: Path) -> list[int]:
    labels = {name: ("no", "yes")["GC" in text] for name, text in draw_records(1)}
    data = sl.data.SequenceDataset(place / "x.fa", encoder=DNA, labels=labels)
    loader = sl.data.DataLoader(data, batch_size=16, collate_fn=sl.data.PadCollator())
    return [int(np.asarray(batch["inputs"]).sum()) for batch in loader]


def _write_bed(place: Path) -> None:
    sl.io.to_bed(place / "x.bed", draw_genotypes(1, (300, 200)))


def _read_bed(place: Path) -> list[Any]:
    with sl.io.open_bed(place / "x.bed") as bed:
        parts = [bed.read(np.s_[:, start : start + 50], "int8") for start in range(0, 200, 50)]
        values = np.concatenate(parts, 1).astype(int)
        return [len(bed.iid), len(bed.sid), int((values * np.arange(200)).sum())]


def _statistics(place: Path) -> list[float]:
    stats = sl.io.genotype_stats(place / "x.bed")
    return [int(stats.missing.sum()), round(float(stats.allele_frequency.sum()), 6)]


def _genotypes(place: Path) -> list[float]:
    data = sl.data.GenotypeDataset(place / "x.bed", memory=0, cache=place.parent / "cache")
    return [round(float(np.asarray(data[row]["inputs"]).sum()), 3) for row in range(0, 300, 30)]


def _records() -> Iterable[Reader]:
    for suffix, recorder in RECORDERS.items():

        def prepare(place: Path, suffix: str = suffix, how: Any = recorder) -> None:  # noqa: ANN401
            arrays = {"a": np.arange(30000.0), "b": np.full((40, 30), 1, "f4")}
            sl.record.Record(arrays).save(place / f"m.{suffix}", how())

        def read(place: Path, suffix: str = suffix) -> list[float]:
            found = sl.record.load(place / f"m.{suffix}")
            return [float(np.asarray(found[name]).sum()) for name in ("a", "b")]

        yield Reader(f"record, {suffix}", prepare, read)


def _save_run(place: Path) -> None:
    write_fasta(place.parent / "t.fa", 3)
    labels = {name: ("no", "yes")["GC" in text] for name, text in draw_records(3)}
    data = sl.data.SequenceDataset(place.parent / "t.fa", encoder=DNA, labels=labels)
    config = sl.models.SequenceCNNConfig(channels=4, outputs=2, widths=(8,), kernel_size=5)
    sl.train.fit(config, data, data, out=place / "run", epochs=1, batch_size=16, seed=1,
                 num_threads=1, report=False, progress=False)  # fmt: skip


def _load_run(place: Path) -> list[float]:
    trained = sl.models.load(place / "run")
    data = sl.data.SequenceDataset(place.parent / "t.fa", encoder=DNA)
    return sl.infer.predict(trained, data, progress=False).to_numpy().ravel().round(5).tolist()


def _embed(place: Path) -> None:
    write_fasta(place.parent / "e.fa", 3)
    sl.infer.embed(
        lambda batch: TABLE[batch["input_ids"]], place.parent / "e.fa", out=place / "out",
        shard_size=20, tokens=sl.encode.Tokens("esm2"), identity="table", num_threads=1,
    )  # fmt: skip


def _load_embeddings(place: Path) -> list[float]:
    found = sl.infer.load(place / "out")
    return [len(found), round(float(sum(np.asarray(found[f"r{row}"]).sum() for row in range(40))), 4)]


def _save_onnx(place: Path) -> None:
    sl.export.onnx(_network(), place / "m.onnx", inputs={"x": ("batch", 4, 30)})


def _load_onnx(place: Path) -> list[float]:
    module = sl.models.from_onnx(place / "m.onnx")
    return [round(float(np.abs(np.asarray(each)).sum()), 4) for each in module.to_record().values()]


def _write_labels(place: Path) -> None:
    write_fasta(place / "x.fa", 1)
    rows = [f"{name}\t{('no', 'yes')['GC' in text]}\n" for name, text in draw_records(1)]
    (place / "labels.tsv").write_text("id\tlabel\n" + "".join(rows))


def _read_labels(place: Path) -> list[int]:
    data = sl.data.SequenceDataset(place / "x.fa", encoder=DNA, labels=place / "labels.tsv")
    return [int(item["label"]) for item in data]


def _write_scores(place: Path) -> None:
    values = np.linspace(0, 1, 2000).reshape(1000, 2)
    ids = [f"r{row}" for row in range(1000)]
    sl.infer.Scores(ids, ("no", "yes"), values).to_tsv(place / "scores.tsv")


def _read_scores(place: Path) -> float:
    return float(sl.infer.Scores.read_tsv(place / "scores.tsv").to_numpy().sum())


def readers() -> list[Reader]:
    """Lists them."""
    return [
        *_sequences(),
        *_indexed(),
        Reader("batches of sequences", lambda place: write_fasta(place / "x.fa", 1), _dataset),
        Reader("genotypes", _write_bed, _read_bed),
        Reader("genotype statistics", _write_bed, _statistics),
        Reader("batches of genotypes", _write_bed, _genotypes),
        *_records(),
        Reader("run folder", _save_run, _load_run),
        Reader("embeddings", _embed, _load_embeddings),
        Reader("ONNX", _save_onnx, _load_onnx),
        Reader("labels", _write_labels, _read_labels),
        Reader("scores", _write_scores, _read_scores),
    ]


