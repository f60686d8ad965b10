"""Sequence files, or sequences in memory, as a dataset with labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_bool, as_seed
from seqloom.data._batch import encoder_input
from seqloom.data._dataset import Dataset
from seqloom.data._encoder import (
    ValidatingEncoder,
    check_augment,
    check_encoder,
    find_invalid_sequence,
)
from seqloom.data._inputs import Inputs, SourceOptions
from seqloom.data._sequence_source import SequenceSource
from seqloom.data._source import iterate_letters
from seqloom.data._sources import read_sources
from seqloom.data.label._labels import DEFAULTS, Labels
from seqloom.data.label._record_labels import label_records

if TYPE_CHECKING:
    import re

    from seqloom.data._encoder import Encoder
    from seqloom.io._settings import Comments, IdRule, Quality, Whitespace


def SequenceDataset(
    paths: Any,
    *,
    encoder: Encoder | None = None,
    augment: Any = None,
    labels: Any = None,
    max_length: int | None = None,
    seed: int = 0,
    id_column: str = "id",
    sequence_column: str = "sequence",
    quality: Quality = "phred33",
    comments: Comments = "error",
    whitespace: Whitespace = "error",
    ids: IdRule = "error",
    id_from_header: str | re.Pattern[str] | None = None,
    in_memory: bool | None = None,
    **old: Any,
) -> Dataset:
    """Sequences from files or memory, with labels; optionally augmented and encoded.

    An item is a dict with ``id``, ``inputs``, ``file``, ``ordinal`` (the record's index
    over all files) and, with labels, ``label``. Without an encoder, an item has
    ``sequence`` instead of ``inputs``, and for FASTQ also ``quality``.

    Small files are read into memory once. Large files are read through an index
    (``sl.io.SequenceIndex``), which is created once and saved next to the file. A pickled
    dataset contains paths, options and a digest of the content. In another process, an
    unpickled dataset reopens the files on first use, and raises if a file has changed.
    Tables and in-memory sequences are pickled with their content.

    Sequences in memory can be a list of strings, bytes, pairs of id and sequence, dicts, or
    records. A dict can map ids to sequences, or column names to columns. Series, data
    frames (pandas, polars, Arrow), Hugging Face datasets and arrays of strings or bytes are
    accepted too. An array of single characters has one sequence per row. Without ids,
    records are numbered from 0. The id of a record in memory ends at the first blank, as in
    a file. A file can also be a table: CSV, TSV or Parquet with a column ``sequence`` and,
    for labels, a column ``label``.

    Labels come from tables joined by id, a dict, the headers, the names of the files, or a
    function of the record. Strings and integers are classes. Numbers such as 0.5 need
    ``Labels(..., task="regress")``.

    Args:
        paths: A file, a pattern (``"part-*.fa.gz"``), several files or patterns, or
            sequences in memory.
        encoder: Encodes residues as numbers, for example ``sl.encode.OneHot``.
        augment: Changes residues before they are encoded, for example
            ``sl.augment.ReverseComplement``; the changes depend on seed, epoch and ordinal.
        labels: Tables (TSV, CSV, white space; plain or gzip; Parquet), a data frame, or a
            dict from id to label. A pandas series indexed by id, and a function that
            returns the label of a ``SequenceRecord``, are accepted too. An array, a list or
            a series with the default index must contain the labels in record order. With
            ``"file"``, each file is a class, named like the file without suffixes; a dict
            from file to label sets other class names. With None, the label column of a
            table of sequences is read, if it exists; with False, no labels are read. A
            ``Labels`` object also has options for reading the labels.
        max_length: The maximum sequence length; a longer sequence raises an error.
        seed: Seed of the augmentation.
        id_column: The column of ids in tables. If a table lacks this column, its records
            are numbered from 0 and counted in ``report``.
        sequence_column: The column of sequences in a table of sequences.
        quality: The encoding of quality characters: ``"phred33"``, ``"phred64"`` or
            ``"solexa"``.
        comments: ``"skip"`` ignores FASTA lines that begin with ``;`` or ``#``;
            ``"error"`` rejects them.
        whitespace: ``"strip"`` removes blanks within the sequences of FASTA files, tables
            and in-memory data.
        ids: ``"number"`` uses the index of a record as its id if the header is empty or the
            id is missing; ``"error"`` raises.
        id_from_header: A regular expression that matches the id in the header. The id is
            the group named ``id``, the first group if no group has this name, or the whole
            match if there are no groups. For example, ``r"\\|(.+?)\\|"`` finds the
            accession in the UniProt header ``sp|P12345|NAME``. With None, the id is the
            header up to the first blank.
        in_memory: If True, all records are kept in memory. With None, records are kept in
            memory if ids, residues and qualities together need less than 1 GiB.
        **old: Deprecated: options of ``Labels`` as keywords; write ``labels=Labels(source,
            task=..., classes=...)``.

    Returns:
        The dataset.

    Raises:
        FileError: A file cannot be read.
        FormatError: A file is not valid.
        AlphabetError: A sequence has a character outside the alphabet of the encoder.
        LabelError: Labels are missing or duplicated, or do not fit the task.
        ArgumentError: Arguments contradict each other.
        MissingExtraError: A table is Parquet, and pyarrow is not installed.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGGCC\\n")
        >>> _ = Path("a.tsv").write_text("id\\tlabel\\nx\\tno\\ny\\tyes\\n")
        >>> data = SequenceDataset("a.fa", labels="a.tsv")
        >>> print(data)
        2 sequences of 4; no 1, yes 1
        >>> data[1]["sequence"], int(data[1]["label"]), data.classes
        (b'GGCC', 1, ('no', 'yes'))
        >>> print(SequenceDataset({"sequence": ["ACGT", "GG"], "label": ["no", "yes"]}))
        2 sequences of 2 to 4; no 1, yes 1
    """
    # `id_column` is also the column of ids in a table of sequences.
    usual = replace(DEFAULTS, id_column=id_column)
    labels = Labels.of(labels, usual, old, maker=SequenceDataset)
    labels.check_unsupported("coding", of="GenotypeDataset")
    if in_memory is not None:
        in_memory = as_bool("in_memory", in_memory)
    check_encoder(encoder)
    options = SourceOptions(
        quality=quality,
        comments=comments,
        whitespace=whitespace,
        ids=ids,
        sequence_column=sequence_column,
        id_column=id_column,
        id_from_header=id_from_header,
    )
    tables = read_sources(paths, options)
    inputs = Inputs(tables.paths, options, tables.batches)
    source = SequenceSource(inputs, in_memory=in_memory, has_ids=tables.has_ids)
    source.check_lengths(max_length, encoder)
    augment, seed = check_augment(augment, encoder), as_seed(seed)
    column = label_records(source, labels, tables.frames)
    column = replace(column, report=column.report | tables.count_numbered(id_column))
    data = Dataset(source, encoder=encoder, augment=augment, seed=seed, labels=column)
    source.store.forget_headers()
    _check_letters(data, source)
    return data


def _check_letters(data: Dataset, records: SequenceSource) -> None:
    # Large files are not checked here, because they would be read twice. Reading a
    # batch with an invalid character raises.
    if not (records.in_memory and isinstance(data.encoder, ValidatingEncoder)):
        return
    start = 0
    for letters in iterate_letters(records, data.rows, data.encoder):
        part = encoder_input(data.encoder, letters)
        row = find_invalid_sequence(data.encoder, part)
        if row is not None:
            data.items_at(np.array([start + row]))
        start += len(part)
