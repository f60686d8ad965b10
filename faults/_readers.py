"""Readers of sequences, indexes, genotypes, records, runs, exported models and tables."""

from __future__ import annotations

import bz2
import gzip
import lzma
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import seqloom as sl
from faults._file_writers import (
    RECORDERS,
    draw_genotypes,
    draw_records,
    read_seeds,
    read_track,
    write_fasta,
    write_track,
    write_variants,
)
from faults._job_writers import (
    CONFIG,
    DNA,
    export_model,
    look_up,
    make_network,
    run_program,
)
from faults._story import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

RECORD_COUNT = 20_000  # Number of records, chosen to exceed one block of a reader.
SAMPLES, VARIANTS = 300, 200
# Compression formats that seqloom reads but does not write.
COMPRESSORS = {"xz": lzma.compress, "bz2": bz2.compress}


def readers() -> Iterator[Reader]:
    """Return all readers."""
    yield from map(_sequence_reader, ("x.fa", "x.fa.gz", "x.fa.bgz", "x.fa.xz", "x.fa.bz2"))
    yield from map(_index_reader, ("x.fa", "x.fa.gz", "x.fa.bgz"))
    yield Reader("batches of sequences", _write_fasta, _read_batches)
    yield from map(_variant_reader, ("x.vcf", "x.vcf.gz"))
    yield Reader("variants of a region", _write_indexed_variants, _read_region)
    yield Reader("tracks", partial(write_track, count=RECORD_COUNT), read_track)
    yield Reader("genotypes", _write_bed, _read_bed)
    yield Reader("genotype statistics", _write_bed, _read_statistics)
    yield Reader("batches of genotypes", _write_bed, _read_genotypes)
    yield from map(_record_reader, RECORDERS)
    yield Reader("run folder", _save_run, _load_run)
    yield Reader("embeddings", _embed, _load_embeddings)
    yield Reader("exported model", _export, _score, is_checked=True)
    yield Reader("ONNX", _save_onnx, _load_onnx)
    yield Reader("labels", _write_labels, _read_labels)
    yield Reader("scores", _write_scores, _read_scores)


def _sequence_reader(name: str) -> Reader:
    write = partial(_write_sequences, name=name)
    read, is_packed = partial(_read_sequences, name=name), name != "x.fa"
    return Reader(f"sequences, {name[2:]}", write, read, is_checked=is_packed)


def _write_sequences(place: Path, *, name: str) -> None:
    pack = COMPRESSORS.get(name.rpartition(".")[2])
    if pack is None:
        sl.io.write_sequences(place / name, draw_records(1, RECORD_COUNT))
        return
    packed = place.parent / "x.fa.gz"
    sl.io.write_sequences(packed, draw_records(1, RECORD_COUNT))
    text = gzip.decompress(packed.read_bytes())
    (place / name).write_bytes(pack(text))


def _read_sequences(place: Path, *, name: str) -> list[int]:
    with sl.io.open_sequences(place / name) as records:
        return _checksum(str(record.sequence) for record in records)


def _checksum(texts: Iterable[str]) -> list[int]:
    """Return the number of sequences, and the sum of their bytes weighted by position."""
    number = total = 0
    for number, text in enumerate(texts, 1):
        total += number * sum(text.encode()) + len(text)
    return [number, total]


def _index_reader(name: str) -> Reader:
    write = partial(_write_indexed, name=name)
    return Reader(f"indexed {name[2:]}", write, partial(_read_indexed, name=name))


def _write_indexed(place: Path, *, name: str) -> None:
    sl.io.write_sequences(place / name, draw_records(1, RECORD_COUNT))
    sl.io.build_index(place / name)


def _read_indexed(place: Path, *, name: str) -> list[int]:
    index = sl.io.SequenceIndex(place / name, build=False)
    return _checksum(str(index[row].sequence) for row in range(0, RECORD_COUNT, 701))


def _write_fasta(place: Path) -> None:
    write_fasta(place / "x.fa", 1)


def _make_labels(seed: int) -> dict[str, str]:
    return {name: ("no", "yes")["GC" in text] for name, text in draw_records(seed)}


def _read_batches(place: Path) -> list[int]:
    data = sl.data.SequenceDataset(place / "x.fa", encoder=DNA)
    loader = sl.data.DataLoader(data, batch_size=16, collate_fn=sl.data.PadCollator())
    return [int(np.asarray(batch["inputs"]).sum()) for batch in loader]


def _variant_reader(name: str) -> Reader:
    write = partial(write_variants, name=name, count=RECORD_COUNT)
    read, is_packed = partial(_read_variants, name=name), name != "x.vcf"
    return Reader(f"variants, {name[2:]}", write, read, is_checked=is_packed)


def _read_variants(place: Path, *, name: str) -> list[int]:
    return _checksum(f"{start} {seed}" for start, seed in read_seeds(place / name))


def _write_indexed_variants(place: Path) -> None:
    write_variants(place, name="x.vcf.gz", count=RECORD_COUNT)


def _read_region(place: Path) -> list[int]:
    regions = ["1:300000-320000", "1:700000-700900"]
    rows = read_seeds(place / "x.vcf.gz", region=regions)
    return _checksum(f"{start} {seed}" for start, seed in rows)


def _write_bed(place: Path) -> None:
    sl.io.to_bed(place / "x.bed", draw_genotypes(1, (SAMPLES, VARIANTS)))


def _read_bed(place: Path) -> list[int]:
    with sl.io.open_bed(place / "x.bed") as bed:
        starts = range(0, VARIANTS, 50)
        parts = [bed.read(np.s_[:, start : start + 50], "int8") for start in starts]
        values = np.concatenate(parts, 1).astype(int) * np.arange(VARIANTS)
        names = [np.asarray(bed.iid), np.asarray(bed.sid)]
    return [*map(len, names), int(values.sum())]


def _read_statistics(place: Path) -> list[float]:
    stats = sl.io.genotype_stats(place / "x.bed")
    return [int(stats.missing.sum()), round(float(stats.allele_frequency.sum()), 6)]


def _read_genotypes(place: Path) -> list[float]:
    data = sl.data.GenotypeDataset(place / "x.bed", memory=0, cache=place.parent / "cache")
    rows = (np.asarray(data[row]["inputs"]) for row in range(0, SAMPLES, 30))
    return [round(float(row.sum()), 3) for row in rows]


def _record_reader(suffix: str) -> Reader:
    name = f"m.{suffix}"
    write, read = partial(_save_record, name=name), partial(_load_record, name=name)
    return Reader(f"record, {suffix}", write, read, is_checked=True)


def _save_record(place: Path, *, name: str) -> None:
    arrays = {"a": np.arange(30000.0), "b": np.full((40, 30), 1, "f4")}
    recorder = RECORDERS[name.partition(".")[2]]()
    sl.record.Record(arrays).save(place / name, recorder)


def _load_record(place: Path, *, name: str) -> list[float]:
    found = sl.record.load(place / name)
    return [float(np.asarray(found[array]).sum()) for array in ("a", "b")]


def _save_run(place: Path) -> None:
    fasta = place.parent / "t.fa"
    write_fasta(fasta, 3)
    data = sl.data.SequenceDataset(fasta, encoder=DNA, labels=_make_labels(3))
    sl.train.fit(
        CONFIG,
        data,
        data,
        out=sl.train.RunFolder(place / "run", report=False),
        epochs=1,
        batch_size=16,
        seed=1,
        backend=sl.train.Computation(num_threads=1),
        progress=False,
    )


def _load_run(place: Path) -> list[float]:
    trained = sl.models.load(place / "run")
    data = sl.data.SequenceDataset(place.parent / "t.fa", encoder=DNA)
    scores = sl.infer.predict(trained, data, progress=False)
    return scores.to_numpy().ravel().round(5).tolist()


def _embed(place: Path) -> None:
    write_fasta(place.parent / "e.fa", 3)
    sl.infer.embed(
        look_up, place.parent / "e.fa", out=place / "out", shard_size=20,
        tokens=sl.encode.Tokens("dna"), identity="table", num_threads=1,
    )  # fmt: skip


def _load_embeddings(place: Path) -> list[Any]:
    found = sl.infer.load(place / "out")
    rows = [np.asarray(found[f"r{row}"]) for row in range(len(found))]
    return [len(found), round(float(np.sum(rows)), 4)]


def _export(place: Path) -> None:
    write_fasta(place.parent / "s.fa", 3)
    export_model(place, name="m.seqloom")


def _score(place: Path) -> str:
    """Score with seqloom-run, and raise the error that it prints."""
    done = run_program(place / "m.seqloom", place.parent / "s.fa")
    return done.stdout.decode()


def _save_onnx(place: Path) -> None:
    sl.export.onnx(make_network(), place / "m.onnx", inputs={"x": ("batch", 4, 30)})


def _load_onnx(place: Path) -> list[float]:
    arrays = sl.models.from_onnx(place / "m.onnx").to_record().values()
    return [round(float(np.abs(np.asarray(array)).sum()), 4) for array in arrays]


def _write_labels(place: Path) -> None:
    write_fasta(place / "x.fa", 1)
    rows = "".join(f"{name}\t{label}\n" for name, label in _make_labels(1).items())
    (place / "labels.tsv").write_text(f"id\tlabel\n{rows}", encoding="ascii")


def _read_labels(place: Path) -> list[int]:
    labels = place / "labels.tsv"
    data = sl.data.SequenceDataset(place / "x.fa", encoder=DNA, labels=labels)
    return [int(item["label"]) for item in data]


def _write_scores(place: Path) -> None:
    values, ids = np.linspace(0, 1, 2000).reshape(1000, 2), map(str, range(1000))
    sl.infer.Scores(list(ids), ("no", "yes"), values).to_tsv(place / "scores.tsv")


def _read_scores(place: Path) -> float:
    return float(sl.infer.Scores.read_tsv(place / "scores.tsv").to_numpy().sum())
