"""Fault tests of other libraries that write files: torch, safetensors, NumPy and more."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from faults._file_writers import EMPTY_FOLDER, draw_genotypes, draw_records
from faults._story import Writer

if TYPE_CHECKING:
    from pathlib import Path


def _arrays(value: float) -> dict[str, np.ndarray]:
    return {"a": np.full(3000, value), "b": np.full((40, 30), value)}


def _values(arrays: dict[str, Any]) -> list[float]:
    """Return the distinct values of all elements, sorted."""
    return np.unique(
        np.concatenate([np.asarray(it).ravel() for it in arrays.values()])
    ).tolist()


def _torch(place: Path, value: float = 2.0) -> None:
    torch = import_module("torch")
    torch.save({k: torch.from_numpy(v) for k, v in _arrays(value).items()}, place / "m.pt")


def _read_torch(place: Path) -> list[float]:
    return _values(import_module("torch").load(place / "m.pt", weights_only=True))


def _safetensors(place: Path, value: float = 2.0) -> None:
    import_module("safetensors.numpy").save_file(_arrays(value), place / "m.safetensors")


def _read_safetensors(place: Path) -> list[float]:
    return _values(import_module("safetensors.numpy").load_file(place / "m.safetensors"))


def _numpy(place: Path, value: float = 2.0) -> None:
    np.savez(place / "m.npz", allow_pickle=False, **_arrays(value))


def _read_numpy(place: Path) -> list[float]:
    return _values(dict(np.load(place / "m.npz")))


def _bed(place: Path, seed: int = 2) -> None:
    values = draw_genotypes(seed, (10 + 3 * seed, 21))
    import_module("bed_reader").to_bed(place / "x.bed", values, num_threads=1)


def _read_bed(place: Path) -> Any:
    if not (place / "x.bed").exists():
        return EMPTY_FOLDER
    with import_module("bed_reader").open_bed(place / "x.bed", num_threads=1) as bed:
        return [bed.iid.tolist(), bed.read(dtype="int8").tolist()]


def _fasta(place: Path, seed: int = 2) -> None:
    sequence, record = (
        import_module("Bio.Seq").Seq,
        import_module("Bio.SeqRecord").SeqRecord,
    )
    records = (record(sequence(text), key) for key, text in draw_records(seed))
    import_module("Bio.SeqIO").write(records, place / "x.fa", "fasta")


def _read_fasta(place: Path) -> list[str]:
    return [str(it.seq) for it in import_module("Bio.SeqIO").parse(place / "x.fa", "fasta")]


def rivals() -> list[Writer]:
    """Return writers of other libraries that replace an old file."""
    torch, biopython = version("torch").partition("+")[0], version("biopython")
    return [
        _rival(f"torch.save {torch}", _torch, _read_torch, old=1.0),
        _rival(
            f"safetensors {version('safetensors')}",
            _safetensors,
            _read_safetensors,
            old=1.0,
        ),
        _rival(f"numpy.savez {np.__version__}", _numpy, _read_numpy, old=1.0),
        _rival(f"bed_reader {version('bed-reader')}", _bed, _read_bed, old=1),
        _rival(f"Biopython {biopython}, SeqIO.write", _fasta, _read_fasta, old=1),
    ]


def _rival(name: str, write: Any, read: Any, *, old: float) -> Writer:
    """Return a writer that replaces a file with a different value."""
    return Writer(name, lambda place: write(place, old), write, read)
