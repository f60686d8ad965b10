"""Datasets are printed as one line, and as a table in notebooks."""

from html.parser import HTMLParser

import numpy as np
import pytest

import seqloom as sl


class Tags(HTMLParser):
    """Collects the tags of an HTML page."""

    def __init__(self):
        super().__init__()
        self.met = set()

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - the parser gives both
        self.met.add(tag)


@pytest.fixture
def datasets(fasta, tmp_path):
    """A dataset of each class, from a file whose name must be escaped in HTML."""
    path = fasta({"a": "ACGT", "b": "GG"}, "a<b>&.fa")
    whole = sl.data.SequenceDataset(path, labels={"a": "<i>", "b": "y"})
    sl.io.to_bed(tmp_path / "x.bed", np.array([[0, 1], [2, 1]], np.int8))
    parts = {"chrom": ["a"], "start": [0], "stop": [2]}
    return [
        whole,
        whole[:1],
        sl.data.SequenceStream(path),
        sl.data.IntervalDataset(path, parts),
        sl.data.GenotypeDataset(tmp_path / "x.bed"),
    ]


def test_the_repr_of_a_dataset_is_one_short_line(datasets):
    for data in datasets:
        is_stream = isinstance(data, sl.data.SequenceStream)
        title = type(data).__name__ if is_stream else data.title
        assert repr(data) == f"{title}({data})"
        assert "\n" not in repr(data)
    assert repr(datasets[0]) == "SequenceDataset(2 sequences of 2 to 4; <i> 1, y 1)"


def test_the_notebook_html_of_a_dataset_escapes_file_names(datasets):
    for data in datasets:
        parser = Tags()
        parser.feed(data._repr_html_())
        assert parser.met <= {"table", "caption", "tr", "th", "td", "br"}
