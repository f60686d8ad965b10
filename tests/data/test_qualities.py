"""The Quality encoder reads the qualities of records, never their sequences."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import FormatError

FASTQ_TEXT = "@a\nACGTA\n+\n!+5?I\n@b\nGG\n+\n#$\n"
QUALITY_SCORES = [[0, 10, 20, 30, 40], [2, 3, 0, 0, 0]]


@pytest.fixture
def path(tmp_path):
    (tmp_path / "reads.fq").write_text(FASTQ_TEXT)
    return tmp_path / "reads.fq"


@pytest.mark.parametrize("in_memory", [True, False])
def test_fastq_batches_and_items_contain_quality_scores(path, in_memory):
    encoder = sl.encode.Quality()
    data = sl.data.SequenceDataset(path, encoder=encoder, in_memory=in_memory)
    assert data.batch([0, 1])["inputs"].tolist() == QUALITY_SCORES
    assert [item["inputs"].tolist() for item in data] == [
        QUALITY_SCORES[0],
        QUALITY_SCORES[1][:2],
    ]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_loader_of_fastq_returns_quality_scores(path, num_workers):
    data = sl.data.SequenceDataset(path, encoder=sl.encode.Quality())
    loader = sl.data.DataLoader(
        data, batch_size=2, num_workers=num_workers, collate_fn=sl.data.PadCollator()
    )
    (batch,) = loader
    assert batch["inputs"].tolist() == QUALITY_SCORES
    assert batch["mask"].tolist() == [[1] * 5, [1, 1, 0, 0, 0]]


def test_a_stream_of_fastq_returns_quality_scores(path):
    stream = sl.data.SequenceStream(path, encoder=sl.encode.Quality())
    assert [item["inputs"].tolist() for item in stream] == [
        QUALITY_SCORES[0],
        QUALITY_SCORES[1][:2],
    ]


def test_a_subset_of_fastq_records_returns_quality_scores(path):
    data = sl.data.SequenceDataset(path, encoder=sl.encode.Quality())
    np.testing.assert_array_equal(sl.data.Subset(data, [1]).batch([0])["inputs"], [[2, 3]])


def test_augmented_reads_of_a_dataset_have_matching_qualities(path):
    data = sl.data.SequenceDataset(
        path, encoder=sl.encode.Quality(), augment=sl.augment.ReverseComplement(1.0)
    )
    assert data[0]["inputs"].tolist() == QUALITY_SCORES[0][::-1]


def test_encoding_qualities_of_fasta_is_an_error_with_a_remedy(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nACGT\n")
    with pytest.raises(FormatError, match=r"have no qualities; pass FASTQ files, or"):
        sl.data.SequenceDataset(tmp_path / "a.fa", encoder=sl.encode.Quality())
