"""Specification 1: sequence files become batches without losses.

Deviation from the specification: the order of an epoch is computed, so no queue exists
whose depth could be read. Instead, ``state_dict()`` contains the position.
"""

import bz2
import gzip
import io
import lzma
import os
import pickle
import threading
from typing import Any, cast

import numpy as np
import pytest
import torch
from Bio import SeqIO

import loader_user as user
import seqloom as sl
from fastx import bgzip
from seqloom.errors import SeqloomError

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
FASTA_BYTES = b">a one\nACGTNacgt\nACG\r\n>b\nTTTT\n>c\nGATTACA\n"
FASTQ_BYTES = b"@a\nACGT\n+\nIIII\n@b\nGG\n+\n!!\n"
COMPRESSORS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bgzip": bgzip,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
EXPECTED_SEQUENCES = [b"ACGTNacgtACG", b"TTTT", b"GATTACA"]


def read_all(origin, **options):
    with sl.io.open_sequences(origin, **options) as reader:
        return [(record.id, bytes(record.sequence)) for record in reader]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.fa"
    path.write_bytes(FASTA_BYTES)
    return path


@pytest.fixture
def forty(tmp_path):
    """Forty sequences of eight bases, in two classes."""
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice([*"ACGT"], 8)) for _ in range(40)]
    path = tmp_path / "forty.fa"
    path.write_text("".join(f">s{i}\n{row}\n" for i, row in enumerate(rows)))
    labels = {f"s{i}": "ab"[i % 2] for i in range(40)}
    return sl.data.SequenceDataset(path, encoder=sl.encode.OneHot("dna"), labels=labels)


@pytest.mark.parametrize("name", COMPRESSORS)
def test_every_compression_is_detected_from_the_content(tmp_path, name):
    (tmp_path / "no-suffix").write_bytes(COMPRESSORS[name](FASTA_BYTES))
    assert [text for _, text in read_all(tmp_path / "no-suffix")] == EXPECTED_SEQUENCES


def test_a_gzip_with_several_members_is_read_to_its_end(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(FASTA_BYTES) + gzip.compress(b">d\nAC\n"))
    assert [name for name, _ in read_all(tmp_path / "a.gz")] == ["a", "b", "c", "d"]


def test_binary_file_objects_and_named_pipes_can_be_read(tmp_path):
    assert len(read_all(io.BytesIO(FASTA_BYTES))) == 3
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[FASTA_BYTES])
    writer.start()
    assert len(read_all(tmp_path / "pipe")) == 3
    writer.join()


def test_records_equal_those_of_biopython(file):
    with file.open() as handle:
        theirs = [(it.id, str(it.seq).encode()) for it in SeqIO.parse(handle, "fasta")]
    assert read_all(file) == theirs


def test_a_batch_consists_of_columns_and_keeps_header_bytes(file):
    with sl.io.open_sequences(file) as reader:
        batch = next(iter(reader.batches(10)))
    assert batch.sequences.offsets.tolist() == [0, 12, 16, 23]
    assert batch.headers.to_list() == [b"a one", b"b", b"c"]


def test_the_quality_encoding_is_an_option_and_never_guessed():
    with sl.io.open_sequences(io.BytesIO(b"@a\nA\n+\nh\n"), quality="phred64") as reader:
        record = next(iter(reader))
    assert record.quality == b"h"
    with pytest.raises(SeqloomError, match="expected a quality"):
        read_all(io.BytesIO(b"@a\nA\n+\n!\n"), quality="phred64")


def test_read_pairs_are_read_together_and_their_ids_are_checked(tmp_path):
    (tmp_path / "1.fq").write_bytes(
        FASTQ_BYTES.replace(b"@a", b"@a/1").replace(b"@b", b"@b/1")
    )
    (tmp_path / "2.fq").write_bytes(
        FASTQ_BYTES.replace(b"@a", b"@a/2").replace(b"@b", b"@b/2")
    )
    with sl.io.open_sequences((tmp_path / "1.fq", tmp_path / "2.fq")) as reader:
        assert [(one.id, two.id) for one, two in reader] == [("a/1", "a/2"), ("b/1", "b/2")]
    (tmp_path / "2.fq").write_bytes(
        FASTQ_BYTES.replace(b"@a", b"@a/2").replace(b"@b", b"@z/2")
    )
    with (
        sl.io.open_sequences((tmp_path / "1.fq", tmp_path / "2.fq")) as reader,
        pytest.raises(SeqloomError, match="z"),
    ):
        list(reader)


def test_written_sequences_are_read_back_unchanged(tmp_path):
    records = [("a", b"ACGT"), ("b", b"GG")]
    for name in ("a.fa", "a.fa.gz", "a.fa.bgz"):
        assert sl.io.write_sequences(tmp_path / name, records) == 2
        assert read_all(tmp_path / name) == records


def test_a_truncated_gzip_is_an_error_after_its_complete_records(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(FASTA_BYTES)[:-9])
    with pytest.raises(SeqloomError, match=r"a\.gz"):
        read_all(tmp_path / "a.gz")


def test_a_bgzip_file_without_its_end_block_is_an_error(tmp_path):
    (tmp_path / "a.gz").write_bytes(bgzip(FASTA_BYTES)[:-28])
    with pytest.raises(SeqloomError, match="end"):
        read_all(tmp_path / "a.gz")
    assert len(read_all(tmp_path / "a.gz", require_eof=False)) == 3


def test_an_expected_record_count_detects_a_file_truncated_between_records(tmp_path):
    (tmp_path / "a.fq").write_bytes(FASTQ_BYTES)
    with pytest.raises(SeqloomError, match="3"):
        read_all(tmp_path / "a.fq", expect=3)


def test_on_error_collect_reports_skipped_records():
    text = b"@a\nACGT\n+\nIII\n@b\nGG\n+\n!!\n"
    with sl.io.open_sequences(io.BytesIO(text), on_error="collect") as reader:
        assert [record.id for record in reader] == ["b"]
        assert reader.report.left_out == {"length": 1}


@pytest.mark.parametrize("name", ["plain", "bgzip", "gzip"])
def test_a_fasta_index_fetches_sequences_by_id_and_range(tmp_path, name):
    (tmp_path / "a.fa").write_bytes(COMPRESSORS[name](b">a\nACGTAC\nGTAC\n>b\nTTTT\n"))
    index = sl.io.SequenceIndex(tmp_path / "a.fa")
    assert index.ids == ["a", "b"]
    assert bytes(index.fetch("a", 4, 9)) == b"ACGTA"
    with pytest.raises(IndexError, match="10"):
        index.fetch("a", 4, 11)


@pytest.mark.parametrize("name", ["dna", "rna", "protein", "iupac", "XYZ"])
def test_every_alphabet_is_one_hot_encoded_and_decoded(name):
    letters = {"rna": "ACGU", "protein": "MKV", "iupac": "ACGTRY"}.get(name, "ACGT")
    letters = "XYZ" if name == "XYZ" else letters
    encoder = sl.encode.OneHot(name)
    assert encoder.decode(encoder(letters)) == [letters.encode()]


def test_ambiguity_codes_follow_the_chosen_policy():
    columns = {
        unknown: sl.encode.OneHot("dna", unknown=unknown)("R")[:, 0].tolist()
        for unknown in ("zeros", "uniform", "fractional")
    }
    assert columns == {
        "zeros": [0, 0, 0, 0],
        "uniform": [0.25, 0.25, 0.25, 0.25],
        "fractional": [0.5, 0, 0.5, 0],
    }
    with pytest.raises(SeqloomError, match="R"):
        sl.encode.OneHot("dna", unknown="error")("R")


def test_an_invalid_character_is_an_error_with_the_alphabet():
    with pytest.raises(ValueError, match=r"E.*ACGT"):
        sl.encode.OneHot("dna")("ACE")


def test_uracil_is_read_as_thymine_only_with_an_option():
    with pytest.raises(SeqloomError, match="rna_as_dna"):
        sl.encode.OneHot("dna")("ACU")
    encode = sl.encode.OneHot("dna", rna_as_dna=True)
    assert np.array_equal(encode("ACU"), encode("ACT"))


def test_lower_case_is_folded_masked_kept_or_an_error():
    fold, mask = (sl.encode.Integer("dna", case=case)("a") for case in ("fold", "mask"))
    assert fold.tolist() == [0]
    assert mask.tolist() != [0]
    with pytest.raises(SeqloomError, match="lower"):
        sl.encode.Integer("dna", case="error")("a")


def test_tokens_equal_those_of_esm2():
    assert sl.encode.Tokens("esm2")("MK").tolist() == [0, 20, 15, 2]


@pytest.mark.parametrize(
    "change", [sl.augment.Mutate(rate=0.5), sl.augment.Shift(4)], ids=str
)
def test_an_augmentation_is_a_function_of_sequence_and_key(change):
    first = change(b"ACGTACGTAC", sl.Key(3))
    assert change(b"ACGTACGTAC", sl.Key(3)) == first
    assert any(change(b"ACGTACGTAC", sl.Key(seed)) != first for seed in range(9))


def test_a_dinucleotide_shuffle_keeps_dinucleotide_counts():
    letters = b"ACGATTACAGATTACCAGT"
    shuffled = sl.augment.ShuffleKmers(k=2)(letters, sl.Key(1))

    def count(text):
        return sorted(text[at : at + 2] for at in range(len(text) - 1))

    assert count(shuffled) == count(letters)
    assert shuffled != letters


def test_an_augmentation_rate_outside_0_to_1_is_an_error():
    with pytest.raises(ValueError, match="rate"):
        sl.augment.Mutate(rate=1.5)


def test_the_ordinal_of_an_item_counts_over_all_files(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.fa").write_bytes(FASTA_BYTES)
    data = sl.data.SequenceDataset([tmp_path / "a.fa", tmp_path / "b.fa"], ids="number")
    assert [item["ordinal"] for item in data] == list(range(6))


def test_a_dataset_supports_slices_and_negative_indices(forty):
    assert forty[-1]["id"] == "s39"
    assert [item["id"] for item in forty[3:5]] == ["s3", "s4"]
    with pytest.raises(IndexError, match="40"):
        forty[40]


def test_two_iterations_over_a_dataset_are_independent(forty):
    one, two = iter(forty), iter(forty)
    next(one)
    assert next(two)["id"] == "s0"


def test_a_sequence_dataset_can_be_pickled(forty):
    again = pickle.loads(pickle.dumps(forty))  # noqa: S301 - written here
    assert np.array_equal(again[7]["inputs"], forty[7]["inputs"])


@pytest.mark.parametrize("world", [1, 2, 3])
def test_the_ranks_of_a_stream_together_yield_each_record_once(forty, world):
    stream = sl.data.SequenceStream(forty.paths, encoder=forty.encoder)
    loaders = [
        sl.data.DataLoader(stream, 4, rank=rank, world_size=world, even_ranks="drop")
        for rank in range(world)
    ]
    seen = [
        ordinal for loader in loaders for batch in loader for ordinal in batch["ordinal"]
    ]
    assert sorted(seen) == list(range(40))


def test_intervals_are_zero_based_and_half_open(tmp_path):
    (tmp_path / "g.fa").write_text(">chr1\nACGTTGCA\n")
    (tmp_path / "x.bed").write_text("chr1\t2\t5\tp\t0\t+\nchr1\t2\t5\tm\t0\t-\n")
    data = sl.data.IntervalDataset(tmp_path / "g.fa", tmp_path / "x.bed")
    assert [bytes(item["sequence"]) for item in data] == [b"GTT", b"AAC"]


def test_a_record_without_a_label_in_the_table_is_an_error(file, tmp_path):
    (tmp_path / "l.tsv").write_text("id\tlabel\na\tx\nb\ty\n")
    with pytest.raises(SeqloomError, match="c"):
        sl.data.SequenceDataset(file, labels=tmp_path / "l.tsv")


def test_default_collate_equals_that_of_pytorch():
    items = [
        {"x": np.ones(2), "n": [1, {"y": 2.0}]},
        {"x": np.zeros(2), "n": [3, {"y": 4.0}]},
    ]
    ours = sl.data.default_collate(items)
    theirs = torch.utils.data.default_collate(items)
    assert ours["x"].tolist() == theirs["x"].tolist()
    assert ours["n"][1]["y"].tolist() == theirs["n"][1]["y"].tolist()


def test_padded_batches_have_a_mask_and_lengths(file):
    data = sl.data.SequenceDataset(file, encoder=sl.encode.Integer("dna"))
    [batch] = sl.data.DataLoader(data, 3, collate_fn=sl.data.PadCollator(multiple=8))
    assert batch["inputs"].shape == (3, 16)
    assert batch["lengths"].tolist() == batch["mask"].sum(axis=1).tolist() == [12, 4, 7]


def test_a_split_keeps_class_shares_and_groups(forty):
    groups = {f"s{i}": f"g{i // 4}" for i in range(40)}
    train, valid = sl.data.split(forty, (0.8, 0.2), groups=groups, seed=1)
    families = [{groups[item["id"]] for item in part} for part in (train, valid)]
    assert not families[0] & families[1]
    assert len(train) + len(valid) == 40


def test_a_cache_returns_the_items_of_its_dataset(forty, tmp_path):
    cached = sl.data.cached(forty, tmp_path / "cache")
    for one, other in zip(cached, forty, strict=True):
        assert np.array_equal(one["inputs"], other["inputs"])


@pytest.mark.parametrize(
    "options",
    [
        {"shuffle": True, "sampler": [1]},
        {"batch_sampler": [[1]], "batch_size": 2},
        {"timeout": -1},
    ],
    ids=str,
)
def test_a_loader_rejects_the_arguments_that_pytorch_rejects(options):
    with pytest.raises(ValueError):  # noqa: PT011 - PyTorch's texts differ
        torch.utils.data.DataLoader(cast("Any", range(4)), **options)
    with pytest.raises(ValueError):  # noqa: PT011 - see above
        sl.data.DataLoader(range(4), **options)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_batches_have_the_same_bits_for_any_number_of_workers(forty, workers):
    alone = sl.data.DataLoader(forty, 8, shuffle=True)
    together = sl.data.DataLoader(forty, 8, shuffle=True, num_workers=workers)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_equal(one, other)


def test_a_loader_state_resumes_within_an_epoch_with_other_workers(forty):
    loader = sl.data.DataLoader(forty, 8, shuffle=True)
    batches = iter(loader)
    next(batches)
    state, rest = loader.state_dict(), [batch["id"] for batch in batches]
    again = sl.data.DataLoader(forty, 8, shuffle=True, num_workers=2)
    again.load_state_dict(state)
    assert [list(batch["id"]) for batch in again] == [list(ids) for ids in rest]


def test_a_batch_in_use_is_never_overwritten(forty):
    held = [batch["inputs"] for batch in sl.data.DataLoader(forty, 8)]
    kept = [batch.copy() for batch in held]
    assert all(np.array_equal(one, other) for one, other in zip(held, kept, strict=True))


def test_a_killed_worker_loses_no_record(tmp_path):
    options: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": "fork"}
    collate = user.DiesOnce(tmp_path, {5})
    batches = sl.data.DataLoader(range(12), 3, collate_fn=collate, **options)
    assert np.concatenate(list(batches)).tolist() == list(range(12))


def test_workers_do_not_repeat_records_of_an_iterable_dataset():
    options: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": "spawn"}
    batches = sl.data.DataLoader(user.ImportsTorchLate(), 2, **options)
    assert sorted(item for batch in batches for item in batch.tolist()) == list(range(10))


def test_the_async_loader_yields_raw_items_once_in_order(file):
    loader = sl.data.create_async_dataloader([file], list, num_workers=0, batch_size=2)
    items = [item for batch in loader for item in batch]
    assert [(item["id"], item["ordinal"]) for item in items] == [
        ("a", 0),
        ("b", 1),
        ("c", 2),
    ]
    assert set(items[0]) == {"id", "sequence", "file", "ordinal"}


def test_sequences_can_be_cropped_to_their_first_residues(file):
    loader = sl.data.create_async_dataloader([file], list, num_workers=0, max_length=2)
    assert [item["sequence"] for batch in loader for item in batch] == [b"AC", b"TT", b"GA"]
    assert sl.augment.Crop(2, mode="start")(b"GATTACA", sl.Key(0)) == b"GA"


def test_inspect_reports_format_compression_records_and_residues(file):
    summary = sl.io.inspect(file)
    assert (summary.format, summary.records) == ("fasta", 3)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text("old")

    def records():
        yield ("a", "ACGT")
        raise KeyError

    with pytest.raises(KeyError):
        sl.io.write_sequences(path, records())
    assert path.read_text() == "old"
    assert [it.name for it in tmp_path.iterdir()] == ["a.fa"]


def test_duplicate_ids_and_comments_are_errors_by_default(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nAC\n>a\nGT\n")
    with pytest.raises(SeqloomError, match="a"):
        sl.data.SequenceDataset(tmp_path / "a.fa", labels={"a": "x"})
    data = sl.data.SequenceDataset(tmp_path / "a.fa", labels=np.array(["x", "y"]))
    assert [item["label"] for item in data] == [0, 1]
    (tmp_path / "b.fa").write_text("; comment\n>a\nAC\n")
    with pytest.raises(SeqloomError, match="comments"):
        read_all(tmp_path / "b.fa")
    assert len(read_all(tmp_path / "b.fa", comments="skip")) == 1


def test_a_header_above_1_mib_is_an_error():
    with pytest.raises(SeqloomError, match="header"):
        read_all(io.BytesIO(b">" + b"x" * (1 << 20) + b"yy\nAC\n"))


def test_canonical_kmer_counts_do_not_depend_on_the_strand():
    encode = sl.encode.Kmer(3, counts=True, canonical=True)
    assert np.array_equal(encode("ACGTTGCA"), encode("TGCAACGT"))


def test_quality_scores_follow_the_chosen_encoding():
    assert sl.encode.Quality()(b"!I").tolist() == [0, 40]
    assert sl.encode.Quality("phred64")(b"@h").tolist() == [0, 40]


def test_channels_can_be_last_and_arrays_can_be_input():
    first, last = sl.encode.OneHot("dna"), sl.encode.OneHot("dna", channels="last")
    assert np.array_equal(first("ACGT").T, last("ACGT"))
    out = np.empty((4, 4), np.float32)
    assert first("ACGT", out=out) is out


@pytest.mark.parametrize("name", ["bucket", "budget"])
def test_a_batch_sampler_yields_each_record_once(name):
    lengths = np.random.default_rng(1).integers(1, 40, 60)
    make = {
        "bucket": lambda: sl.data.LengthBucketSampler(lengths, 7),
        "budget": lambda: sl.data.TokenBudgetSampler(lengths, 100),
    }
    batches = [[int(place) for place in batch] for batch in make[name]()]
    assert sorted(place for batch in batches for place in batch) == list(range(60))
    if name == "budget":
        assert all(len(batch) * max(lengths[batch]) <= 100 for batch in batches)


def test_each_record_is_validated_in_exactly_one_fold(forty):
    parts = sl.data.folds(forty, 4, seed=2)
    assert sorted(item for _, valid in parts for item in valid.ids) == sorted(forty.ids)


def test_epochs_differ_and_can_be_selected(forty):
    loader = sl.data.DataLoader(forty, 40, shuffle=True)
    first, second = (list(next(iter(loader))["id"]) for _ in range(2))
    assert first != second
    loader.set_epoch(0)
    assert list(next(iter(loader))["id"]) == first


def test_a_shuffle_window_of_a_stream_loses_no_record(forty):
    stream = sl.data.SequenceStream(forty.paths, shuffle_window=16, seed=1)
    ids = [item["id"] for item in stream]
    assert ids != forty.ids
    assert sorted(ids) == sorted(forty.ids)


def test_windows_tile_a_genome_to_its_end(tmp_path):
    (tmp_path / "g.fa").write_text(">chr1\nACGTACGTAC\n")
    tiles = sl.data.windows(tmp_path / "g.fa", 4, 3)
    assert [bytes(item["sequence"]) for item in tiles] == [b"ACGT", b"TACG", b"GTAC"]


def test_an_incomplete_fai_is_an_error(tmp_path):
    (tmp_path / "a.fa").write_text(">chr1\nACGTACGT\n>ercc\nGGGG\n")
    (tmp_path / "a.fa.fai").write_text("chr1\t8\t6\t8\t9\n")
    with pytest.raises(SeqloomError, match="fai"):
        sl.io.SequenceIndex(tmp_path / "a.fa")
