"""Sequence files, or sequences in memory, as a dataset with labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_flag, as_seed
from seqloom.data._batch import encode_part
from seqloom.data._dataset import Dataset
from seqloom.data._encoder import (
    Refusing,
    check_augment,
    check_encoder,
    first_refused,
)
from seqloom.data._inputs import Inputs, SourceOptions
from seqloom.data._sequence_source import SequenceSource
from seqloom.data._source import each_letters
from seqloom.data._sources import sources_of
from seqloom.data.label._labels import USUAL, Labels
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
    """Sequences of files or from memory, augmented and encoded when asked for, with labels.

    An item is a dict: ``id``, ``inputs`` (``sequence``, where there is no encoder, and
    ``quality`` with it where files are FASTQ), ``file``, ``ordinal`` (the record's number
    over all files) and, with labels, ``label``.

    Small files are read into memory once, as columns; large ones stay where they are and
    are read through an index (``sl.io.SequenceIndex``), which is made once and kept beside
    the file. A pickle holds paths, options and a
    digest of the content: another process opens the files again on first use, and a file
    that has changed meanwhile is an error. Tables and what was given in memory it holds.

    Sequences from memory are a list (of texts, bytes, pairs of id and sequence, dicts, or
    records), a dict from id to sequence, a dict of columns, an array of texts or bytes (or
    of single letters, a sequence a row), a series, a data frame (pandas, polars, Arrow), or
    a Hugging Face dataset. Ids are those given, else numbers from 0; as in a file, an id is
    the first word of what is given. A file may be a table too: CSV, TSV or Parquet with a
    column ``sequence``; its column ``label``, where there is one, is the labels.

    Labels come from tables joined by id, from a dict, from the headers, from the names of
    the files, or from a function of the record. Text and integers are classes; numbers
    with a fraction need ``Labels(..., task="regress")``.

    Args:
        paths: A file, a pattern (``"part-*.fa.gz"``), several of them, or sequences from
            memory.
        encoder: Encodes letters as numbers; ``sl.encode.OneHot``, for example.
        augment: Changes letters before they are encoded, by a key of seed, epoch and
            ordinal; ``sl.augment.ReverseComplement``, for example.
        labels: Tables (TSV, CSV, white space; plain or gzip; Parquet), a data frame, a dict
            from id to label, a function that gives a ``SequenceRecord`` its label, a pandas
            series whose index has the ids, an array, a series with the default index or a
            list of numbers in the order of the records; ``"file"`` where each
            file is a class, called as the file is without its endings, or a dict from file
            to label. None takes the column of a table of sequences, if it has one; False
            leaves labels out. A ``Labels`` says how they are read.
        max_length: A longer sequence is an error.
        seed: Seed of the augmentation.
        id_column: The tables' column of ids; without one records are numbered from 0, and
            ``report`` counts them.
        sequence_column: The column of sequences, of a table of sequences.
        quality: What a letter of quality means: ``"phred33"``, ``"phred64"`` or
            ``"solexa"``.
        comments: ``"skip"`` leaves out lines of FASTA that begin with ``;`` or ``#``.
        whitespace: ``"strip"`` leaves out blanks among the letters of FASTA, of tables and
            in memory.
        ids: ``"number"`` gives a record whose header has no word, or that has no id in
            memory, its number.
        id_from_header: A regular expression: its group named ``id``, else its first group,
            else all that it matches is the id of a record; ``r"\\|(.+?)\\|"`` finds the
            accession in UniProt's ``sp|P12345|NAME``. None takes the first word.
        in_memory: Whether all records are held in memory; None holds them where ids,
            letters and qualities are below 1 GiB.
        **old: Options of ``Labels``, as they were given before: write
            ``labels=Labels(source, task=..., classes=...)``.

    Returns:
        The dataset.

    Raises:
        FileError: A file cannot be read.
        FormatError: A file does not hold what it should.
        AlphabetError: A letter that the encoder does not know.
        LabelError: Labels are missing, double, or do not fit the task.
        ArgumentError: Arguments that do not go together.
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
    # The column of ids of the table of sequences, too.
    usual = replace(USUAL, id_column=id_column)
    labels = Labels.of(labels, usual, old, maker=SequenceDataset)
    labels.check_usual("coding", of="GenotypeDataset")
    if in_memory is not None:
        in_memory = as_flag("in_memory", in_memory)
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
    tables = sources_of(paths, options)
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
    """Find a letter that the encoder would refuse, before any work is done."""
    # Files too large to hold are not read twice: there the batch finds it.
    if not (records.in_memory and isinstance(data.encoder, Refusing)):
        return
    start = 0
    for letters in each_letters(records, data.rows, data.encoder):
        part = encode_part(data.encoder, letters)
        row = first_refused(data.encoder, part)
        if row is not None:
            data.items_at(np.array([start + row]))
        start += len(part)
