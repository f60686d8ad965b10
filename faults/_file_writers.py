"""Writers of single files and of file sets: records, sequences, indexes, genotypes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import seqloom as sl
from faults._story import Writer, digest, do_nothing
from seqloom.errors import MissingFileError
from seqloom.io.plink._export import copy_whole_set

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

BASES = np.array(list("ACGT"))
RECORDERS = {
    "safetensors": sl.record.Safetensors,
    "json.gz": sl.record.JsonGz,
}
EMPTY_FOLDER = "nothing"
_MISSING_SHARE = 0.1  # of the genotypes


def draw_records(seed: int, count: int = 40) -> list[tuple[str, str]]:
    """Return random sequences and their ids."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(5, 60, count)
    ends = np.cumsum(lengths)
    text = "".join(rng.choice(BASES, ends[-1]))
    bounds = enumerate(zip(ends - lengths, ends, strict=True))
    return [(f"r{number}", text[start:end]) for number, (start, end) in bounds]


def draw_genotypes(seed: int, shape: tuple[int, int] = (13, 21)) -> NDArray[Any]:
    """Return random genotypes, some of them missing."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3, shape).astype(np.int8)
    values[rng.random(shape) < _MISSING_SHARE] = -127
    return values


def write_fasta(path: Path, seed: int) -> None:
    """Write random sequences as FASTA, without seqloom."""
    lines = [f">{name}\n{text}\n" for name, text in draw_records(seed)]
    path.write_text("".join(lines), encoding="ascii")


def file_writers() -> Iterator[Writer]:
    """Return all writers of single files and file sets."""
    yield from map(_record_writer, RECORDERS)
    yield from map(_sequence_writer, ("x.fa", "x.fq", "x.fa.gz", "x.fa.bgz"))
    # Two files cannot be replaced in one step, so one file may still be old after the
    # writer was killed. The test then runs the writer again, as for a job.
    before = partial(_write_pairs, seed=1)
    yield Writer("sequences, pairs", before, _write_pairs, _read_pairs, is_job=True)
    yield from map(_index_writer, ("x.fa", "x.fa.gz", "x.fa.bgz"))
    yield Writer("index, .fai and .gzi", _before_fai, _write_fai, _read_fai, is_job=True)
    yield from map(_variant_writer, ("x.vcf", "x.vcf.gz"))
    yield Writer("tracks", partial(write_track, seed=1), write_track, read_track)
    yield _bed_writer("SNP")
    yield _bed_writer("individual")
    yield Writer("genotypes, create_bed", do_nothing, _create_bed, _read_bed)
    yield Writer("genotypes, transposed", _before_transpose, _transpose, _read_bed)
    yield _table_writer("scores.tsv", partial(_write_scores, value=0.5), _write_scores)
    yield _table_writer("stats.tsv", partial(_write_statistics, seed=1), _write_statistics)
    yield _table_writer("config.json", partial(_write_config, channels=4), _write_config)


def _record_writer(suffix: str) -> Writer:
    name = f"model.{suffix}"
    save = partial(_save_record, name=name)
    read = partial(_read_record, name=name)
    return Writer(f"record, {suffix}", partial(save, value=1.0), save, read)


def _save_record(place: Path, *, name: str, value: float = 2.0) -> None:
    recorder = RECORDERS[name.partition(".")[2]]()
    arrays = {"a": np.full(3000, value), "b": np.full((40, 30), value, "f4")}
    sl.record.Record(arrays).save(place / name, recorder)


def _read_record(place: Path, *, name: str) -> list[float]:
    found = sl.record.load(place / name)
    return [*np.unique(found["a"]).tolist(), *np.unique(found["b"]).tolist()]


def _sequence_writer(name: str) -> Writer:
    write = partial(_write_sequences, name=name)
    read = partial(_read_sequences, name=name)
    return Writer(f"sequences, {name[2:]}", partial(write, seed=1), write, read)


def _write_sequences(place: Path, *, name: str, seed: int = 2) -> None:
    records = draw_records(seed)
    with_qualities = [(key, text, "I" * len(text)) for key, text in records]
    sl.io.write_sequences(place / name, with_qualities if "fq" in name else records)


def _read_sequences(place: Path, *, name: str) -> list[str]:
    with sl.io.open_sequences(place / name) as records:
        return [str(record.sequence) for record in records]


def _write_pairs(place: Path, *, seed: int = 2) -> None:
    rows = [
        sl.io.SequenceRecord(key, "", text.encode(), b"I" * len(text))
        for key, text in draw_records(seed)
    ]
    pair = place / "1.fq.gz", place / "2.fq.gz"
    sl.io.write_sequences(pair, zip(rows, rows, strict=True))


def _read_pairs(place: Path) -> list[list[str]]:
    with sl.io.open_sequences((place / "1.fq.gz", place / "2.fq.gz")) as pairs:
        return [[str(one.sequence), str(other.sequence)] for one, other in pairs]


def _index_writer(name: str) -> Writer:
    return Writer(
        f"index of {name[2:]}",
        partial(_write_sequences, name=name),
        partial(_build_index, name=name),
        partial(_read_by_index, name=name),
    )


def _build_index(place: Path, *, name: str) -> None:
    sl.io.build_index(place / name)


def _read_by_index(place: Path, *, name: str) -> Any:
    try:
        index = sl.io.SequenceIndex(place / name, build=False)
    except MissingFileError:
        return EMPTY_FOLDER
    return [str(record.sequence) for record in index]


def _before_fai(place: Path) -> None:
    sl.io.write_sequences(place / "x.fa.bgz", draw_records(1))
    sl.io.SequenceIndex(place / "x.fa.bgz", index=place.parent / "x.sli")


def _write_fai(place: Path) -> None:
    index = sl.io.SequenceIndex(place / "x.fa.bgz", index=place.parent / "x.sli")
    index.write_fai()


def _read_fai(place: Path) -> str:
    return digest(place / "x.fa.bgz.fai", place / "x.fa.bgz.gzi")


def _variant_writer(name: str) -> Writer:
    write = partial(write_variants, name=name)
    read = partial(_read_variants, name=name)
    return Writer(f"variants, {name[2:]}", partial(write, seed=1), write, read)


def write_variants(place: Path, *, name: str, seed: int = 2, count: int = 60) -> None:
    """Write random variants, and the index of a compressed file."""
    lines = ["##fileformat=VCFv4.3", "##contig=<ID=1,length=9999999>"]
    lines.append("#CHROM POS ID REF ALT QUAL FILTER INFO".replace(" ", "\t"))
    positions = np.sort(np.random.default_rng(seed).integers(1, 900_000, count))
    rows = (f"1 {position} . A G . . ." for position in positions.tolist())
    lines += [row.replace(" ", "\t") for row in rows]
    source = place.parent / "source.vcf"
    source.write_text("\n".join(lines) + "\n", encoding="ascii")
    info = [("SEED", "1", "Integer", "Seed of the random numbers")]
    with sl.io.VariantWriter(place / name, source, info=info) as writer:
        writer.write([f"SEED={seed}"] * count)


def _read_variants(place: Path, *, name: str) -> Any:
    """Return the variants, which are also those of the index if there is one."""
    path = place / name
    if not path.exists():
        return EMPTY_FOLDER
    seeds = read_seeds(path)
    if path.with_name(f"{name}.tbi").exists() and read_seeds(path, region="1") != seeds:
        return "the index belongs to another file"
    return seeds


def read_seeds(path: Path, **options: Any) -> list[list[int]]:
    """Return the start and the INFO field of each variant."""
    with sl.io.open_variants(path, fields=["INFO/SEED"], **options) as reader:
        batches = list(reader.batches())
    columns = [(batch.starts, np.ravel(list(batch.info["SEED"]))) for batch in batches]
    return [row for column in columns for row in np.stack(column, 1).tolist()]


def write_track(place: Path, *, seed: int = 2, count: int = 60) -> None:
    """Write random values of a contig."""
    values = np.random.default_rng(seed).integers(0, 9, count)
    with sl.io.TrackWriter(place / "x.bw", {"1": count}) as writer:
        writer.write_values("1", 0, values)


def read_track(place: Path) -> list[float] | str:
    """Return the value of each base."""
    if not (place / "x.bw").exists():
        return EMPTY_FOLDER
    tracks = sl.io.open_tracks(place / "x.bw")
    return tracks.values("1", 0, tracks.contigs["1"] or 0)[0].tolist()


def _bed_writer(major: str) -> Writer:
    write = partial(_write_bed, major=major)
    return Writer(f"genotypes, to_bed, {major}", partial(write, seed=1), write, _read_bed)


def _write_bed(place: Path, *, major: str, seed: int = 2) -> None:
    values = draw_genotypes(seed, (10 + 3 * seed, 21))
    sl.io.to_bed(place / "x.bed", values, major=major)


def _read_bed(place: Path) -> Any:
    try:
        with sl.io.open_bed(place / "x.bed") as bed:
            return [np.asarray(bed.iid).tolist(), bed.read(dtype="int8").tolist()]
    except MissingFileError:
        return EMPTY_FOLDER


def _create_bed(place: Path) -> None:
    values = draw_genotypes(4)
    with sl.io.create_bed(place / "x.bed", *values.shape) as bed:
        for column in values.T:
            bed.write(column)


def _before_transpose(place: Path) -> None:
    sl.io.to_bed(place.parent / "source.bed", draw_genotypes(5))
    sl.io.to_bed(place / "x.bed", draw_genotypes(1))


def _transpose(place: Path) -> None:
    with sl.io.open_bed(place.parent / "source.bed") as bed:
        copy_whole_set(bed, place / "x.bed", major=None, on_progress=_ignore_progress)


def _ignore_progress(done: int, total: int) -> None:
    """Ignore progress reports."""


def _table_writer(file: str, before: Any, write: Any) -> Writer:
    return Writer(f"table, {file}", before, write, partial(_read_digest, file=file))


def _read_digest(place: Path, *, file: str) -> str:
    return digest(place / file)


def _write_scores(place: Path, *, value: float = 0.25) -> None:
    ids, values = [f"r{row}" for row in range(50)], np.full((50, 2), value)
    sl.infer.Scores(ids, ("no", "yes"), values).to_tsv(place / "scores.tsv")


def _write_statistics(place: Path, *, seed: int = 2) -> None:
    sl.io.to_bed(place.parent / "y.bed", draw_genotypes(seed))
    sl.io.genotype_stats(place.parent / "y.bed").to_tsv(place / "stats.tsv")


def _write_config(place: Path, *, channels: int = 8) -> None:
    sl.models.SequenceCNNConfig(channels=channels, outputs=2).save(place / "config.json")
