"""Proteins that end with ``*``, which the encoder drops."""

import pytest

import seqloom as sl

PROTEINS_WITH_STOPS = {"a": "MKV*", "b": "MKL*", "c": "MEV*", "d": "MEL*"}
LABEL_OF_ID = {"a": "x", "b": "y", "c": "x", "d": "y"}


@pytest.mark.parametrize("in_memory", [True, False])
def test_lengths_of_a_dataset_exclude_a_dropped_stop_symbol(fasta, in_memory):
    path = fasta({"a": "MKV*", "b": "MK", "c": "M*"})
    encoder = sl.encode.OneHot("protein")
    data = sl.data.SequenceDataset(path, encoder=encoder, in_memory=in_memory)
    assert data.lengths.tolist() == [item["inputs"].shape[1] for item in data] == [3, 2, 1]
    assert data[1:].lengths.tolist() == [2, 1]


def test_an_encoded_stop_symbol_counts_as_a_position(fasta):
    encoder = sl.encode.Integer("protein", symbols="keep")
    data = sl.data.SequenceDataset(fasta(PROTEINS_WITH_STOPS), encoder=encoder)
    assert data.lengths.tolist() == [len(item["inputs"]) for item in data] == [4] * 4


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_model_trains_on_proteins_of_equal_length_with_stops(fasta, in_memory):
    data = sl.data.SequenceDataset(
        fasta(PROTEINS_WITH_STOPS),
        encoder=sl.encode.OneHot("protein"),
        labels=LABEL_OF_ID,
        in_memory=in_memory,
    )
    config = sl.models.SequenceCNNConfig.for_data(data)
    assert config.length == 3
    run = sl.train.fit(config, data, epochs=1)
    mixed = fasta({"e": "MKV", "f": "MEL*"}, "new.fa")
    assert sl.infer.predict(run.trained, mixed).to_numpy().shape == (2, 2)
    assert sl.infer.evaluate(run.trained, data)["n"] == 4


def test_lengths_of_protein_intervals_exclude_a_dropped_stop_symbol(fasta):
    parts = {"chrom": ["a", "a", "b"], "start": [0, 1, 0], "stop": [4, 3, 4]}
    data = sl.data.IntervalDataset(
        fasta(PROTEINS_WITH_STOPS), parts, encoder=sl.encode.OneHot("protein"), strand=False
    )
    assert data.lengths.tolist() == [item["inputs"].shape[1] for item in data] == [3, 2, 3]


def test_a_protein_that_is_only_a_stop_symbol_cannot_be_encoded(fasta):
    path = fasta({"a": "MK*", "b": "*"})
    with pytest.raises(sl.errors.FormatError, match=r"record 1 \(b\): .* no residues"):
        sl.data.SequenceDataset(path, encoder=sl.encode.OneHot("protein"))
    stream = sl.data.SequenceStream(path, encoder=sl.encode.OneHot("protein"))
    with pytest.raises(sl.errors.FormatError, match=r"record 1 \(b\)"):
        list(stream)


def test_length_buckets_use_lengths_without_stop_symbols(fasta):
    path = fasta({"a": "MKVL", "b": "MKV*", "c": "MKVL", "d": "MKV*"})
    data = sl.data.SequenceDataset(path, encoder=sl.encode.OneHot("protein"))
    sampler = sl.data.LengthBucketSampler(data, 2, seed=0)
    batches = sl.data.DataLoader(data, batch_sampler=sampler)
    assert sorted(batch["inputs"].shape[2] for batch in batches) == [3, 4]
