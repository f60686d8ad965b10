"""The effects of variants as columns, as a table in a file, and in INFO of a VCF file."""

from __future__ import annotations

import csv
import json
import re
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from io import TextIOBase
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote as percent_encode

import numpy as np

from seqloom._arguments import as_path
from seqloom._files import atomic_path
from seqloom.errors import ArgumentError
from seqloom.infer._scores import find_table_format, import_parquet
from seqloom.io import VariantWriter

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import NDArray

    WriteEffects = Callable[["VariantEffects"], None]

_DESCRIPTIONS = {
    "reference": "Score of the reference allele",
    "alternative": "Score of the alternative allele",
    "difference": "Alternative minus reference score",
    "log_ratio": "Binary logarithm of alternative / reference score",
    "logit": "Difference of the log-odds, alternative minus reference",
    "jensen_shannon": "Jensen-Shannon distance of the profiles",
    "gain_position": "Position of the largest gain, from POS of the normal form",
    "loss_position": "Position of the largest loss, from POS of the normal form",
    "gain": "Largest gain of the score at a position",
    "loss": "Largest loss of the score at a position",
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VariantEffects:
    """The effects that `variant_effects` returns: a row for each record and ALT allele.

    With ``genes``, an allele has a row for each gene that contains the variant.

    Attributes:
        records: The index of the record in the input, from 0.
        chroms: The name of the chromosome, as in the record.
        starts: The position of the first base of REF, from 0.
        ids: The id of the record; ``"."`` if it is missing.
        refs: REF, as in the record.
        alts: One ALT allele, as in the record.
        status: ``"ok"`` or ``"swapped"`` if the allele was scored, otherwise the reason
            why it was not, such as ``"symbolic"`` or ``"reference_mismatch"``.
        alleles: The normal form, such as ``"chr1:1234:CA:C"`` (from 1); empty if unknown.
        genes: The name of the gene; None if no genes were passed.
        columns: The scores and effects by name, such as ``difference_yes``. NaN in rows
            that were not scored.
        report: Counts by status, differences from the genome, oddities, and settings.
        source: The path of the VCF file with the records; None for records in memory.

    Examples:
        >>> texts = ["."], ["A"], ["G"], ["ok"], ["chr1:10:A:G"]
        >>> rows = np.array([0]), ["chr1"], np.array([9]), *texts
        >>> effects = VariantEffects(*rows, columns={"difference_yes": np.array([0.25])})
        >>> effects, effects["difference_yes"].tolist()
        (VariantEffects of 1 row: difference_yes, [0.25])
    """

    records: NDArray[np.int64]
    chroms: list[str]
    starts: NDArray[np.int64]
    ids: list[str]
    refs: list[str]
    alts: list[str]
    status: list[str]
    alleles: list[str]
    genes: list[str] | None = None
    columns: dict[str, NDArray[np.float64]] = field(
        default_factory=dict[str, "NDArray[np.float64]"]
    )
    report: dict[str, Any] = field(default_factory=dict[str, Any])
    source: str | None = None

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Return a column of scores or effects."""
        if name not in self.columns:
            raise ArgumentError(
                f"no column {name!r}; expected one of {', '.join(self.columns)}"
            )
        return self.columns[name]

    def __repr__(self) -> str:
        noun = "row" if len(self) == 1 else "rows"
        return f"VariantEffects of {len(self):,} {noun}: {', '.join(self.columns)}"

    def to_dict(self) -> dict[str, Any]:
        """Return all columns of the table by name, for ``pandas.DataFrame``.

        Returns:
            ``chrom``, ``pos`` (from 1, as in VCF), ``id``, ``ref``, ``alt``, ``status``,
            ``allele``, ``gene`` if genes were passed, and the scores and effects.

        Examples:
            >>> texts = ["."], ["A"], ["G"], ["ok"], ["chr1:10:A:G"]
            >>> rows = np.array([0]), ["chr1"], np.array([9]), *texts
            >>> effects = VariantEffects(*rows)
            >>> effects.to_dict()["pos"].tolist()
            [10]
        """
        texts = {
            "chrom": self.chroms,
            "pos": self.starts + 1,
            "id": self.ids,
            "ref": self.refs,
            "alt": self.alts,
            "status": self.status,
            "allele": self.alleles,
        }
        genes = {} if self.genes is None else {"gene": self.genes}
        return texts | genes | self.columns

    def to_tsv(self, path: str | os.PathLike[str] | IO[str]) -> None:
        """Atomically write a table with the columns of `to_dict`.

        Scores that do not exist are ``.``.

        Args:
            path: The path of the file, which is overwritten if it exists, or an open text
                file.

        Raises:
            FileError: The file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> texts = ["."], ["A"], ["<DEL>"], ["symbolic"], [""]
            >>> rows = np.array([0]), ["chr1"], np.array([9]), *texts
            >>> effects = VariantEffects(
            ...     *rows, columns={"difference_yes": np.array([np.nan])}
            ... )
            >>> effects.to_tsv("effects.tsv")
            >>> Path("effects.tsv").read_text().splitlines()[1].split("\\t")[3:]
            ['A', '<DEL>', 'symbolic', '.', '.']
        """
        with open_effects(as_target("path", path)) as write:
            write(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Atomically write a table in the format of the file's extension.

        Args:
            path: The path of the file, which is overwritten if it exists. ``.vcf``,
                ``.vcf.gz`` and ``.vcf.bgz`` files have the records of the input with the
                effects in INFO, and an index if they are compressed. A ``.csv`` file has
                commas, a ``.parquet`` file is Parquet (extra ``parquet``), and all other
                files have tabs.

        Raises:
            ArgumentError: The extension of the file belongs to an unsupported format, such
                as ``.xlsx``. For VCF, the variants were not read from a file.
            FileError: The file cannot be written.
            MissingExtraError: The file is Parquet, and the package pyarrow is not
                installed.

        Examples:
            >>> from pathlib import Path
            >>> texts = ["."], ["A"], ["G"], ["ok"], ["chr1:10:A:G"]
            >>> rows = np.array([0]), ["chr1"], np.array([9]), *texts
            >>> effects = VariantEffects(*rows)
            >>> effects.save("effects.csv")
            >>> Path("effects.csv").read_text().splitlines()[1]
            'chr1,10,.,A,G,ok,chr1:10:A:G'
        """
        with open_effects(as_path("path", path), self.source) as write:
            write(self)


def is_vcf(path: object) -> bool:
    """Return whether the extension of a file selects VCF."""
    return str(path).lower().endswith((".vcf", ".vcf.gz", ".vcf.bgz"))


def as_target(name: str, value: Any) -> Path | TextIOBase:
    """Return an open text file unchanged, and other values as a path."""
    return value if isinstance(value, TextIOBase) else as_path(name, value)


def open_effects(
    target: Path | TextIOBase, source: str | None = None
) -> AbstractContextManager[WriteEffects]:
    """Open a table for writing; the file appears at its path if the block succeeds.

    A VCF file has the records of `source`.

    Returns:
        A context that yields a function, which writes the next rows.

    Raises:
        ArgumentError: The file's format is not supported, or a VCF file has no source.
    """
    if isinstance(target, TextIOBase):
        return nullcontext(_text_writer(target, is_csv=False))
    if not is_vcf(target):
        kind = find_table_format(target)
        return _open_parquet(target) if kind == "parquet" else _open_text(target, kind)
    if source is None:
        raise ArgumentError(
            f"{target}: the variants were not read from a VCF or BCF file, so they cannot "
            "be written as VCF; use a name that ends in .tsv, .csv or .parquet"
        )
    return _open_vcf(target, source)


@contextmanager
def _open_text(path: Path, kind: str) -> Generator[WriteEffects]:
    with atomic_path(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield _text_writer(file, is_csv=kind == "csv")


def _text_writer(file: Any, *, is_csv: bool) -> WriteEffects:
    """Return a function that writes rows as text, after a line of column names."""
    writer, has_header = csv.writer(file, lineterminator="\n"), False

    def write(effects: VariantEffects) -> None:
        nonlocal has_header
        table = effects.to_dict()
        rows: list[list[str]] = [] if has_header else [list(table)]
        has_header = True
        cells = [
            format_scores(column)
            if name in effects.columns
            else [str(cell) or "." for cell in column]
            for name, column in table.items()
        ]
        rows += map(list, zip(*cells, strict=True))
        if is_csv:
            writer.writerows(rows)
        else:
            file.writelines("\t".join(row) + "\n" for row in rows)

    return write


@contextmanager
def _open_parquet(path: Path) -> Generator[WriteEffects]:
    """Yield a function that writes rows as groups of a Parquet file."""
    library, parquet = import_parquet(path)
    with ExitStack() as stack:
        part = stack.enter_context(atomic_path(path))
        writer: Any = None

        def write(effects: VariantEffects) -> None:
            nonlocal writer
            table = library.table(effects.to_dict())
            if writer is None:
                opened = parquet.ParquetWriter(part, table.schema)
                writer = stack.enter_context(opened)
            writer.write_table(table)

        yield write


@contextmanager
def _open_vcf(path: Path, source: str) -> Generator[WriteEffects]:
    """Yield a function that writes records with the effects in INFO."""
    with ExitStack() as stack:
        writer: VariantWriter | None = None

        def write(effects: VariantEffects) -> None:
            nonlocal writer
            if writer is None:
                has_rows = _has_several_rows(effects)
                fields = (_make_row_field if has_rows else _make_fields)(effects)
                opened = VariantWriter(path, source, info=fields)
                writer = stack.enter_context(opened)
            writer.write(list(_make_info(effects)))

        yield write


def _make_fields(effects: VariantEffects) -> list[tuple[str, str, str, str]]:
    """Return an INFO field for the status, and for each column of numbers."""
    names = _to_info_ids(list(effects.columns))
    text = (
        f"Status of ALT; if swapped, its score is seqloom_reference. {_settings(effects)}"
    )
    fields = [("seqloom_status", "A", "String", text)]
    for column, name in zip(effects.columns, names, strict=True):
        start = next((it for it in _DESCRIPTIONS if column.startswith(f"{it}_")), "")
        output = column.removeprefix(f"{start}_")
        text = f"{_DESCRIPTIONS.get(start, column)}; output {output}"
        fields.append((name, "A", "Float", text.replace('"', "'")))
    return fields


def _settings(effects: VariantEffects) -> str:
    """Return the settings of the scores as one sentence."""
    settings = effects.report.get("settings", {})
    text = ", ".join(f"{name} {json.dumps(value)}" for name, value in settings.items())
    return f"Settings: {text}.".replace('"', "")


def _has_several_rows(effects: VariantEffects) -> bool:
    """Return whether an allele may have several rows: of genes, or of single bases."""
    settings = effects.report.get("settings", {})
    return effects.genes is not None or settings.get("split_mnps", False)


def _make_row_field(effects: VariantEffects) -> list[tuple[str, str, str, str]]:
    """Return one INFO field with all columns, because an allele may have several rows."""
    names = "|".join(["ALT", "status", "allele", "gene", *effects.columns])
    names = names.replace('"', "'")
    text = f"Effects on the scores of a model. {_settings(effects)} Format: {names}"
    return [("seqloom", ".", "String", text)]


def _to_info_ids(columns: Sequence[str]) -> list[str]:
    """Return ids that VCF allows; raise if two columns have the same id."""
    names = [re.sub(r"[^0-9A-Za-z_.]", "_", f"seqloom_{column}") for column in columns]
    for name, column in zip(names, columns, strict=True):
        if names.count(name) > 1:
            raise ArgumentError(
                f"two columns, one of them {column!r}, have the id {name} in INFO of VCF; "
                "write a .tsv, .csv or .parquet table"
            )
    return names


def _make_info(effects: VariantEffects) -> Iterator[str]:
    """Yield the text of each record for INFO, such as ``name=value;name=value``."""
    names = _to_info_ids(list(effects.columns))
    cells = [format_scores(column) for column in effects.columns.values()]
    genes, has_rows = effects.genes or [""] * len(effects), _has_several_rows(effects)
    bounds = np.flatnonzero(np.diff(effects.records, prepend=-1, append=-1)).tolist()
    for start, stop in pairwise(bounds):
        rows = range(start, stop)
        if has_rows:
            texts = [
                "|".join(
                    [
                        effects.alts[row],
                        effects.status[row],
                        effects.alleles[row],
                        percent_encode(genes[row], safe=" ").replace(" ", "_"),
                        *(column[row] for column in cells),
                    ]
                )
                for row in rows
            ]
            yield f"seqloom={','.join(texts)}"
            continue
        fields = [f"seqloom_status={','.join(effects.status[start:stop])}"]
        for name, column in zip(names, cells, strict=True):
            if any(column[row] != "." for row in rows):
                fields.append(f"{name}={','.join(column[start:stop])}")
        yield ";".join(fields)


def format_scores(column: Any) -> list[str]:
    """Return numbers as text with the precision of float32; ``.`` for NaN."""
    return ["." if np.isnan(it) else str(it) for it in np.asarray(column, np.float32)]
