"""Files of the effects of variants: tables, VCF, and the scores of a stopped job."""

from __future__ import annotations

import csv
import json
import re
import shutil
import time
from contextlib import ExitStack, contextmanager, nullcontext
from io import TextIOBase
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as percent_encode

import numpy as np

from seqloom import record
from seqloom._arguments import as_path
from seqloom._files import atomic_path
from seqloom.errors import ArgumentError, RunFolderError
from seqloom.infer._scores import find_table_format, import_parquet
from seqloom.io import VariantWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from seqloom.infer._effects_table import VariantEffects
    from seqloom.infer._variant_scores import Columns

    WriteEffects = Callable[[VariantEffects], None]

VCF_ENDINGS = (".vcf", ".vcf.gz", ".vcf.bgz")
_SAVE_SECONDS = 30
UNFINISHED_ENDING = ".unfinished"
_PLAN_FILE = "plan.json"
_DESCRIPTIONS = {
    "reference": "Score of the reference allele",
    "alternative": "Score of the alternative allele",
    "difference": "Alternative minus reference score",
    "log_ratio": "Binary logarithm of alternative / reference score",
    "logit": "Difference of the log-odds, alternative minus reference",
    "gain_position": "Position of the largest gain, relative to POS of the normal form",
    "loss_position": "Position of the largest loss, relative to POS of the normal form",
    "gain": "Largest gain of the score at a position",
    "loss": "Largest loss of the score at a position",
}


def is_vcf(path: str | Path) -> bool:
    """Return whether the extension of a file selects VCF."""
    return str(path).lower().endswith(VCF_ENDINGS)


def as_target(name: str, value: Any) -> Path | TextIOBase:
    """Return the path or the open text file to write."""
    return value if isinstance(value, TextIOBase) else as_path(name, value)


def open_effects(
    target: Path | TextIOBase, source: str | None = None
) -> AbstractContextManager[WriteEffects]:
    """Return the context of a function that writes the next rows.

    A path gets its file if the block succeeds. A VCF file has the records of `source`.

    Returns:
        The context.

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
            f"{target}: only variants of a VCF file can be written as VCF; use a name that "
            "ends in .tsv, .csv or .parquet"
        )
    return _open_vcf(target, source)


@contextmanager
def _open_text(path: Path, kind: str) -> Generator[WriteEffects]:
    with atomic_path(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield _text_writer(file, is_csv=kind == "csv")


def _text_writer(file: Any, *, is_csv: bool) -> WriteEffects:
    """Return a function that writes rows of text, and the header before the first."""
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
                has_genes = effects.genes is not None
                fields = (_make_gene_field if has_genes else _make_fields)(effects)
                opened = VariantWriter(path, source, info=fields)
                writer = stack.enter_context(opened)
            writer.write(list(_make_info(effects)))

        yield write


def _make_fields(effects: VariantEffects) -> list[tuple[str, str, str, str]]:
    """Return a declaration for each column of numbers, and for the status."""
    names = _to_info_ids(list(effects.columns))
    text = f"Status of each ALT allele. {_describe_settings(effects)}"
    fields = [("seqloom_status", ".", "String", text)]
    for column, name in zip(effects.columns, names, strict=True):
        start = next((it for it in _DESCRIPTIONS if column.startswith(f"{it}_")), "")
        output = column.removeprefix(f"{start}_")
        text = f"{_DESCRIPTIONS.get(start, column)}; output {output}"
        fields.append((name, "A", "Float", text.replace('"', "'")))
    return fields


def _describe_settings(effects: VariantEffects) -> str:
    """Return the settings of the scores as one sentence."""
    settings = effects.report.get("settings", {})
    texts = (f"{name} {json.dumps(value)}" for name, value in settings.items())
    return f"Settings: {', '.join(texts)}.".replace('"', "")


def _make_gene_field(effects: VariantEffects) -> list[tuple[str, str, str, str]]:
    """Return one declaration, because an allele has a row for each gene."""
    names = "|".join(["ALT", "status", "gene", *effects.columns]).replace('"', "'")
    text = (
        f"Effects on the scores of a model. {_describe_settings(effects)} Format: {names}"
    )
    return [("seqloom", ".", "String", text)]


def _to_info_ids(columns: Sequence[str]) -> list[str]:
    """Return ids that VCF allows; raise if two columns have the same id."""
    names = [re.sub(r"[^0-9A-Za-z_.]", "_", f"seqloom_{column}") for column in columns]
    for name, column in zip(names, columns, strict=True):
        if names.count(name) > 1:
            raise ArgumentError(
                f"the outputs of two columns are both {name} in VCF, one of them "
                f"{column!r}: write a .tsv, .csv or .parquet table"
            )
    return names


def _make_info(effects: VariantEffects) -> Iterator[str]:
    """Yield the text of each record: ``name=value`` of each field."""
    names = _to_info_ids(list(effects.columns))
    cells = [format_scores(column) for column in effects.columns.values()]
    bounds = np.flatnonzero(np.diff(effects.records, prepend=-1, append=-1)).tolist()
    for start, stop in pairwise(bounds):
        rows = range(start, stop)
        if effects.genes is not None:
            texts = [
                "|".join(
                    [
                        effects.alts[row],
                        effects.status[row],
                        percent_encode(effects.genes[row], safe=" ").replace(" ", "_"),
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
    """Return numbers as text; NaN is a missing value."""
    return ["." if np.isnan(it) else str(it) for it in np.asarray(column, np.float32)]


class ScoreStore:
    """The scores of the finished batches of a job, in a folder beside its output.

    Args:
        folder: The folder; it is created when scores are saved.
        plan: Facts that must be equal when the job continues.
    """

    def __init__(self, folder: Path, plan: dict[str, str]) -> None:
        self._folder, self._plan = folder, plan
        self._pending: dict[int, Columns] = {}
        self._saved_at = time.monotonic()
        if (folder / _PLAN_FILE).exists():
            _compare_plans(folder, json.loads((folder / _PLAN_FILE).read_text()), plan)
        self._files = {
            number: path
            for path in sorted(folder.glob("*-*.safetensors"))
            for number in range(*map(int, path.stem.split("-")))
        }
        self._open: tuple[Path, record.Record] | None = None

    def read(self, batch: int, names: list[str]) -> Columns | None:
        """Return the stored columns of a batch; None if there are none."""
        path = self._files.get(batch)
        if path is None:
            return None
        if self._open is None or self._open[0] != path:
            self._open = path, record.load(path)
        columns: Any = np.asarray(self._open[1][str(batch)])
        return dict(zip(names, columns, strict=True))

    def add(self, batch: int, columns: Columns) -> None:
        """Store the columns of a batch; files are written every 30 seconds."""
        self._pending[batch] = columns
        if time.monotonic() - self._saved_at > _SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """Write the columns that are not in a file yet."""
        if not self._pending:
            return
        if not (self._folder / _PLAN_FILE).exists():
            self._folder.mkdir(exist_ok=True)
            with atomic_path(self._folder / _PLAN_FILE) as part:
                part.write_text(json.dumps(self._plan, indent=1))
        first, last = min(self._pending), max(self._pending)
        arrays = {
            str(number): np.stack(list(columns.values()))
            for number, columns in self._pending.items()
        }
        record.Record(arrays).save(self._folder / f"{first}-{last + 1}.safetensors")
        self._pending, self._saved_at = {}, time.monotonic()

    def remove(self) -> None:
        """Remove the folder, because the job is complete."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _compare_plans(folder: Path, old: dict[str, str], new: dict[str, str]) -> None:
    differences = [
        f"{name} was {old.get(name)}, now {new.get(name)}"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]
    if differences:
        raise RunFolderError(
            f"{folder}: contains the scores of a stopped job with other settings: "
            f"{'; '.join(differences)}. Use the same settings to continue it, or delete "
            "the folder (--overwrite) to start again"
        )
