"""Fixtures with small files for datasets."""

import pytest

from seqloom.data import SequenceDataset
from seqloom.encode import OneHot


@pytest.fixture
def fasta(tmp_path):
    """Return a function that writes a dict or (header, sequence) pairs as FASTA."""

    def write(records, name="a.fa"):
        rows = records.items() if isinstance(records, dict) else records
        path = tmp_path / name
        path.write_text("".join(f">{head}\n{letters}\n" for head, letters in rows))
        return path

    return write


@pytest.fixture
def table(tmp_path):
    """Return a function that writes a table."""

    def write(text, name="a.tsv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@pytest.fixture(scope="session")
def hundred(tmp_path_factory):
    """A hundred sequences of 1 to 9 residues in two files; 60 of class x, 30 y, 10 z."""
    folder = tmp_path_factory.mktemp("hundred")
    for part in range(2):
        numbers = range(50 * part, 50 * part + 50)
        text = "".join(
            f">s{i} text\n{('ACGT' * 3)[i % 4 :][: 1 + i % 9]}\n" for i in numbers
        )
        (folder / f"{part}.fa").write_text(text)
    labels = {f"s{i}": "xxxxxxyyyz"[i % 10] for i in range(100)}
    return SequenceDataset(folder / "?.fa", labels=labels, encoder=OneHot("dna"))
