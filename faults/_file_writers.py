"""Writers of single files, and of sets of files: records, sequences, indexes, genotypes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import seqloom as sl
from faults._story import Writer, digest
from seqloom.errors import MissingFileError
from seqloom.io.plink._export import copy_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

LETTERS = np.array(list("ACGT"))
RECORDERS = {
    "safetensors": sl.record.Safetensors,
    "msgpack": sl.record.MsgPack,
    "json.gz": sl.record.JsonGz,
}
NOTHING = "nothing"


def draw_records(seed: int, count: int = 40) -> list[tuple[str, str]]:
    """Draws sequences and their ids."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(5, 60, count)
    texts = ["".join(rng.choice(LETTERS, length)) for length in lengths]
    return [(f"r{number}", text) for number, text in enumerate(texts)]


def draw_genotypes(seed: int, shape: tuple[int, int] = (13, 21)) -> NDArray[Any]:
    """Draws genotypes, a tenth of them missing."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3, shape).astype(np.int8)
    values[rng.random(shape) < 0.1] = -127
    return values


def write_fasta(path: Path, seed: int) -> None:
    """Writes sequences without seqloom."""
    lines = [f">{name}\n{text}\n" for name, text in draw_records(seed)]
    path.write_text("".join(lines), encoding="ascii")


def if_there(path: Path, read: Callable[[], Any]) -> Any:  # noqa: ANN401 - of JSON's types
    """Reads a file, or says that there is nothing."""
    return read() if path.exists() else NOTHING


def _records() -> Iterable[Writer]:
    for suffix, recorder in RECORDERS.items():
        name = f"model.{suffix}"

        def save(place: Path, value: float = 2.0, name: str = name, how: Any = recorder) -> None:  # noqa: ANN401
            arrays = {"a": np.full(3000, value), "b": np.full((40, 30), value, "f4")}
            sl.record.Record(arrays).save(place / name, how())

        def read(place: Path, name: str = name) -> list[float]:
            found = sl.record.load(place / name)
            return [*np.unique(found["a"]).tolist(), *np.unique(found["b"]).tolist()]

        yield Writer(f"record, {suffix}", lambda place, save=save: save(place, 1.0), save, read)


def _sequences() -> Iterable[Writer]:
    for name in ("x.fa", "x.fq", "x.fa.gz", "x.fa.bgz"):

        def write(place: Path, seed: int = 2, name: str = name) -> None:
            records = draw_records(seed)
            made = (
                [(key, text, "I" * len(text)) for key, text in records]
                if "fq" in name
                else records
            )
            sl.io.write_sequences(place / name, made)

        def read(place: Path, name: str = name) -> list[str]:
            with sl.io.open_sequences(place / name) as records:
                return [str(record.sequence) for record in records]

        before = lambda place, write=write: write(place, 1)  # noqa: E731
        yield Writer(f"sequences, {name[2:]}", before, write, read)


def _write_pairs(place: Path, seed: int = 2) -> None:
    rows = [
        sl.io.SequenceRecord(key, "", text.encode(), b"I" * len(text))
        for key, text in draw_records(seed)
    ]
    sl.io.write_sequences((place / "1.fq.gz", place / "2.fq.gz"), zip(rows, rows, strict=True))


def _read_pairs(place: Path) -> list[Any]:
    with sl.io.open_sequences((place / "1.fq.gz", place / "2.fq.gz")) as pairs:
        return [[str(one.sequence), str(other.sequence)] for one, other in pairs]


def _indexes() -> Iterable[Writer]:
    for name in ("x.fa", "x.fa.gz", "x.fa.bgz"):

        def prepare(place: Path, name: str = name) -> None:
            sl.io.write_sequences(place / name, draw_records(1))

        def build(place: Path, name: str = name) -> None:
            sl.io.build_index(place / name)

        def read(place: Path, name: str = name) -> Any:  # noqa: ANN401 - of JSON's types
            try:
                index = sl.io.SequenceIndex(place / name, build=False)
            except MissingFileError:
                return NOTHING
            return [str(record.sequence) for record in index]

        yield Writer(f"index of {name[2:]}", prepare, build, read)


def _write_fai(place: Path) -> None:
    index = sl.io.SequenceIndex(place / "x.fa.bgz", index=place.parent / "x.sli")
    index.write_fai()


def _bed_over_a_set(how: dict[str, Any]) -> Writer:
    def write(place: Path, seed: int = 2) -> None:
        sl.io.to_bed(place / "x.bed", draw_genotypes(seed, (10 + 3 * seed, 21)), **how)

    return Writer(
        f"genotypes, to_bed, {how.get('major', 'SNP')}",
        lambda place: write(place, 1),
        write,
        _read_bed,
    )


def _read_bed(place: Path) -> Any:  # noqa: ANN401 - of JSON's types
    def read() -> list[Any]:
        with sl.io.open_bed(place / "x.bed") as bed:
            return [bed.iid.tolist(), bed.read(dtype="int8").tolist()]

    # Opening finishes what a stopped writer has begun.
    try:
        return read()
    except MissingFileError:
        return NOTHING


def _create_bed(place: Path) -> None:
    values = draw_genotypes(4)
    with sl.io.create_bed(place / "x.bed", *values.shape) as bed:
        for column in values.T:
            bed.write(column)


def _transpose(place: Path) -> None:
    with sl.io.open_bed(place.parent / "source.bed") as bed:
        copy_all(bed, place / "x.bed", major=None, on_progress=lambda *_: None)


def _before_transpose(place: Path) -> None:
    sl.io.to_bed(place.parent / "source.bed", draw_genotypes(5))
    sl.io.to_bed(place / "x.bed", draw_genotypes(1))


def _tables() -> Iterable[Writer]:
    def scores(place: Path, value: float = 0.25) -> None:
        values = np.full((50, 2), value)
        sl.infer.Scores([f"r{row}" for row in range(50)], ("no", "yes"), values).to_tsv(
            place / "scores.tsv"
        )

    def statistics(place: Path, seed: int = 2) -> None:
        sl.io.to_bed(place.parent / "y.bed", draw_genotypes(seed))
        sl.io.genotype_stats(place.parent / "y.bed").to_tsv(place / "stats.tsv")

    def config(place: Path, channels: int = 8) -> None:
        config = sl.models.SequenceCNNConfig(channels=channels, outputs=2)
        config.save(place / "config.json")

    for name, write, before, file in (
        ("scores", scores, lambda place: scores(place, 0.5), "scores.tsv"),
        ("statistics", statistics, lambda place: statistics(place, 1), "stats.tsv"),
        ("config", config, lambda place: config(place, 4), "config.json"),
    ):
        yield Writer(
            f"table, {name}", before, write, lambda place, file=file: digest(place / file)
        )


def file_writers() -> list[Writer]:
    """Lists them."""
    return [
        *_records(),
        *_sequences(),
        Writer("sequences, pairs", lambda place: _write_pairs(place, 1), _write_pairs, _read_pairs, is_job=True),
        *_indexes(),
        Writer(
            "index, .fai and .gzi",
            lambda place: _before_fai(place),
            _write_fai,
            lambda place: digest(place / "x.fa.bgz.fai", place / "x.fa.bgz.gzi"),
            is_job=True,
        ),
        _bed_over_a_set({}),
        _bed_over_a_set({"major": "individual"}),
        Writer("genotypes, create_bed", lambda place: None, _create_bed, _read_bed),
        Writer("genotypes, transposed", _before_transpose, _transpose, _read_bed),
        *_tables(),
    ]  # fmt: skip


def _before_fai(place: Path) -> None:
    sl.io.write_sequences(place / "x.fa.bgz", draw_records(1))
    sl.io.SequenceIndex(place / "x.fa.bgz", index=place.parent / "x.sli")
