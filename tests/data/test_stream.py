"""Streams yield each record once for any number of shards, and resume after any item."""

import bz2
import gzip
import json
import pickle
import random
import struct
import zlib
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from seqloom.data import Labels, SequenceDataset, SequenceStream
from seqloom.encode import OneHot
from seqloom.errors import AlphabetError, ArgumentError, FileError, FormatError, LabelError

RECORD_COUNT = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("stream")


@pytest.fixture(scope="module")
def files(folder):
    """Three hundred records of 1 to 9 residues, in two files."""
    paths = []
    for part in range(2):
        numbers = range(150 * part, 150 * part + 150)
        text = "".join(f">s{i} x\n{'ACGTACGTA'[: 1 + i % 9]}\n" for i in numbers)
        paths.append(folder / f"{part}.fa")
        paths[-1].write_text(text)
    return paths


def ordinals(stream):
    return [int(item["ordinal"]) for item in stream]


def test_stream_items_equal_dataset_items(files):
    labels = {f"s{i}": i % 3 for i in range(RECORD_COUNT)}
    options: dict[str, Any] = {"encoder": OneHot("dna"), "labels": labels}
    stream, data = SequenceStream(files, **options), SequenceDataset(files, **options)
    assert stream.classes == data.classes
    for item, wanted in zip(stream, data, strict=True):
        np.testing.assert_equal(item, wanted)


def test_stream_batches_equal_batches_of_the_dataset(files):
    options: dict[str, Any] = {"encoder": OneHot("dna")}
    stream, data = SequenceStream(files, **options), SequenceDataset(files, **options)
    starts = range(0, RECORD_COUNT, 64)
    for batch, start in zip(stream.batches(64, multiple=4), starts, strict=True):
        rows = np.arange(start, min(start + 64, RECORD_COUNT))
        np.testing.assert_equal(batch, data.batch(rows, multiple=4))


@settings(max_examples=25, deadline=None)
@given(count=st.integers(1, 9), window=st.integers(0, 400), epoch=st.integers(0, 3))
def test_each_record_of_a_stream_is_in_exactly_one_shard(files, count, window, epoch):
    stream = SequenceStream(files, shuffle_window=window, seed=5)
    parts = [stream.shard(i, count) for i in range(count)]
    stream.set_epoch(epoch)
    found = [ordinals(part) for part in parts]
    assert sorted(chain(*found)) == list(range(RECORD_COUNT))


def test_each_stream_record_is_in_one_shard_of_split_shards(files):
    stream = SequenceStream(files)
    found = [ordinals(stream.shard(i, 3).shard(j, 2)) for i in range(3) for j in range(2)]
    assert sorted(chain(*found)) == list(range(RECORD_COUNT))


def test_sharding_a_stream_does_not_change_ordinals(files):
    names = {item["ordinal"]: item["id"] for item in SequenceStream(files).shard(1, 3)}
    assert names == {i: f"s{i}" for i in names}


def test_shuffled_epochs_of_a_stream_have_different_orders(files):
    stream = SequenceStream(files, shuffle_window=100, seed=1)
    first, second = ordinals(stream), ordinals(stream)
    assert first != second
    assert sorted(first) == sorted(second) == list(range(RECORD_COUNT))


def test_setting_a_stream_epoch_again_repeats_its_order(files):
    stream = SequenceStream(files, shuffle_window=64)
    first = ordinals(stream)
    ordinals(stream)
    stream.set_epoch(0)
    assert ordinals(stream) == first
    assert ordinals(SequenceStream(files, shuffle_window=64)) == first


def test_a_shuffle_window_moves_records_no_further_than_its_size(files):
    found = np.array(ordinals(SequenceStream(files, shuffle_window=50, seed=3)))
    assert np.abs(found - np.arange(RECORD_COUNT)).max() < 50
    assert (found != np.arange(RECORD_COUNT)).mean() > 0.9


def test_the_order_of_a_stream_does_not_depend_on_the_batch_size(files):
    orders = []
    for size in (1, 7, 300, 1000):
        stream = SequenceStream(files, shuffle_window=40, seed=2)
        orders.append(np.concatenate([b["ordinal"] for b in stream.batches(size)]).tolist())
    assert orders[0] == orders[1] == orders[2] == orders[3]


@pytest.mark.parametrize("window", [0, 37])
@pytest.mark.parametrize("shard", [(0, 1), (1, 3)])
def test_a_stream_resumes_after_any_item(files, window, shard):
    def make():
        return SequenceStream(files, shuffle_window=window, seed=9).shard(*shard)

    stream = make()
    whole = ordinals(stream)
    stream.set_epoch(0)
    states = [stream.state_dict() for _ in stream]
    for place in range(0, len(states), 13):
        again = make()
        again.load_state_dict(json.loads(json.dumps(states[place])))
        assert ordinals(again) == whole[place + 1 :]


def test_a_stream_state_after_the_last_item_is_the_next_epoch(files):
    stream = SequenceStream(files, shuffle_window=20)
    ordinals(stream)
    again = SequenceStream(files, shuffle_window=20)
    again.load_state_dict(stream.state_dict())
    assert ordinals(again) == ordinals(stream)


def test_a_stream_resumes_from_the_state_of_a_chunk(files):
    stream = SequenceStream(files, shuffle_window=20)
    pieces = list(stream.pieces(64))
    again = SequenceStream(files, shuffle_window=20)
    again.load_state_dict(pieces[2].state)
    rest = np.concatenate([piece.chunk.ordinals for piece in pieces[3:]])
    assert ordinals(again) == rest.tolist()


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"shuffle_window": 3}], ids=["seed", "window"]
)
def test_a_stream_state_of_other_settings_is_an_error(files, other):
    state = SequenceStream(files).state_dict()
    with pytest.raises(ArgumentError, match=f"a stream with {next(iter(other))}"):
        SequenceStream(files, **other).load_state_dict(state)


def test_a_stream_state_of_another_file_is_an_error(files, tmp_path):
    state = SequenceStream(files[0]).state_dict()
    (tmp_path / "a.fa").write_text(">a\nAC\n")
    with pytest.raises(ArgumentError, match="a stream with files"):
        SequenceStream(tmp_path / "a.fa").load_state_dict(state)


def test_concurrent_iterators_of_a_stream_are_independent(files):
    stream = SequenceStream(files)
    pairs = zip(stream, stream, strict=True)
    assert all(one["ordinal"] == other["ordinal"] for one, other in pairs)


def test_a_pickled_stream_is_equal(files):
    stream = SequenceStream(files, shuffle_window=30, seed=4)
    again = pickle.loads(pickle.dumps(stream))  # noqa: S301 - ours
    assert ordinals(again) == ordinals(stream)


def test_a_gzip_file_can_be_split_into_shards(folder, files):
    path = folder / "both.fa.gz"
    path.write_bytes(gzip.compress(b"".join(file.read_bytes() for file in files)))
    parts = [ordinals(SequenceStream(path).shard(i, 4)) for i in range(4)]
    assert all(parts)
    assert sorted(chain(*parts)) == list(range(RECORD_COUNT))


def bgzip(text):
    """Compress text like bgzip: blocks with their sizes, and a final empty block."""
    blocks = []
    for start in range(0, len(text), 700):
        packed = zlib.compressobj(wbits=-15)
        part = text[start : start + 700]
        body = packed.compress(part) + packed.flush()
        head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0"
        tail = struct.pack("<II", zlib.crc32(part), len(part))
        blocks.append(head + struct.pack("<H", len(body) + 25) + body + tail)
    end = "1f8b08040000000000ff0600424302001b0003000000000000000000"
    return b"".join(blocks) + bytes.fromhex(end)


COMPRESSORS = {"plain": bytes, "gzip": gzip.compress, "bgzip": bgzip, "bzip2": bz2.compress}


def pack(folder, packer, name):
    """Write 300 records with a compression, unless the file exists; return the path."""
    text = "".join(f">s{i} x\n{'ACGTACGTA'[: 1 + i % 9]}\n" for i in range(RECORD_COUNT))
    path = folder / f"{packer}.{name}"
    if not path.exists():
        path.write_bytes(COMPRESSORS[packer](text.encode()))
    return path


@settings(max_examples=20, deadline=None)
@given(
    packer=st.sampled_from(sorted(COMPRESSORS)),
    count=st.integers(1, 12),
    window=st.sampled_from([0, 25]),
)
def test_files_of_every_compression_are_sharded_without_loss(folder, packer, count, window):
    path = pack(folder, packer, "fa")
    stream = SequenceStream(path, shuffle_window=window)
    found = [
        (int(item["ordinal"]), item["id"], item["sequence"])
        for i in range(count)
        for item in stream.shard(i, count)
    ]
    assert sorted(found) == [
        (i, f"s{i}", b"ACGTACGTA"[: 1 + i % 9]) for i in range(RECORD_COUNT)
    ]


@pytest.mark.parametrize("packer", sorted(COMPRESSORS))
@pytest.mark.parametrize("shard", [(0, 1), (2, 3)])
def test_a_stream_of_any_compression_resumes(folder, packer, shard):
    stream = SequenceStream(pack(folder, packer, "fa"), shuffle_window=10).shard(*shard)
    whole = ordinals(stream)
    for place in (1, 50, len(whole) - 1):
        stream.load_state_dict(stream.state_at(0, place))
        assert ordinals(stream) == whole[place:]


def test_shards_of_a_stream_have_similar_numbers_of_residues(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text(
        "".join(f">s{i}\n{'ACGT' * (500 if i < 10 else 5)}\n" for i in range(110))
    )
    parts = [SequenceStream(path).shard(i, 4) for i in range(4)]
    letters = [sum(len(item["sequence"]) for item in part) for part in parts]
    assert sum(letters) == 22_000
    assert max(letters) < 9_000


def test_a_label_function_of_a_stream_may_return_numbers(files):
    stream = SequenceStream(files, labels=lambda record: len(record.sequence) / 2)
    batch = next(stream.batches(3))
    assert (batch["label"].dtype, batch["label"].tolist()) == (np.float32, [0.5, 1.0, 1.5])


def test_a_label_function_of_a_stream_may_return_class_names(files):
    labels = Labels(
        lambda record: "odd" if int(record.id[1:]) % 2 else "even", classes=["even", "odd"]
    )
    stream = SequenceStream(files, labels=labels)
    assert next(stream.batches(4))["label"].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("classes", "label"),
    [
        (["20", "10"], lambda odd: 20 if odd else 10),
        (["1", "0"], lambda odd: odd),
        (["1", "0"], float),
        (["True", "False"], np.bool_),
    ],
    ids=["integers", "booleans", "floats", "names of booleans"],
)
def test_numbers_from_a_stream_label_function_may_be_class_names(files, classes, label):
    def label_of(record):
        return label(int(record.id[1:]) % 2 == 1)

    stream = SequenceStream(files, labels=Labels(label_of, classes=classes))
    whole = SequenceDataset(files, labels=Labels(label_of, classes=classes))
    assert next(stream.batches(4))["label"].tolist() == [1, 0, 1, 0]
    assert whole.labels[:4].tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("label", [7, -1, 0.5])
def test_a_number_outside_the_classes_of_a_stream_is_an_error(files, label):
    stream = SequenceStream(files, labels=Labels(lambda _: label, classes=["0", "1"]))
    with pytest.raises(LabelError, match="which is not a class"):
        next(iter(stream))


def test_a_name_outside_the_classes_of_a_stream_is_an_error(files):
    with pytest.raises(LabelError, match=r"returned 'x', which is not a class \(none"):
        next(iter(SequenceStream(files, labels=lambda _: "x")))


def test_the_error_for_a_stream_record_without_a_label_names_it(files):
    labels = {f"s{i}": i % 2 for i in range(RECORD_COUNT) if i != 155}
    with pytest.raises(LabelError, match=r"1\.fa: record 5 \(s155\) has no label"):
        list(SequenceStream(files, labels=labels))


def test_a_stream_skips_and_counts_records_without_a_label(files):
    labels = {f"s{i}": i % 2 for i in range(0, RECORD_COUNT, 3)}
    stream = SequenceStream(
        files, labels=Labels(labels, unlabelled="skip"), shuffle_window=32
    )
    assert sorted(ordinals(stream)) == list(range(0, RECORD_COUNT, 3))
    assert stream.report["unlabelled"] == 200


def test_an_invalid_character_is_reported_with_file_record_line_and_byte(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nAC\n>b\nAJ\n")
    stream = SequenceStream(tmp_path / "a.fa", encoder=OneHot("dna"))
    with pytest.raises(
        AlphabetError, match=r"a\.fa: record 1 \(b\), line 4, byte 10 of the text: "
    ):
        list(stream)


def test_a_stream_with_an_empty_sequence_cannot_be_encoded(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nAC\n>b\n\n")
    with pytest.raises(FormatError, match=r"record 1 \(b\): 0 residues are too few"):
        list(SequenceStream(tmp_path / "a.fa", encoder=OneHot("dna")))


def test_a_stream_of_a_pipe_cannot_be_split_into_shards(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="can only be read once"):
        SequenceStream(tmp_path / "pipe").shard(0, 2)


@pytest.mark.parametrize("shard", [(2, 2), (-1, 2), (0, 0)])
def test_a_shard_index_out_of_range_is_an_error(files, shard):
    with pytest.raises(ArgumentError, match="must be an integer"):
        SequenceStream(files).shard(*shard)


def fastq(count, seed):
    """Return FASTQ text in which some qualities begin with @ or +."""
    rng = random.Random(seed)  # noqa: S311 - a test
    rows = []
    for i in range(count):
        size = rng.randrange(1, 9)
        letters = "".join(rng.choices("ACGT", k=size))
        rows.append(f"@r{i} @x\n{letters}\n+\n{'@+I'[i % 3] * size}\n")
    return "".join(rows)


@settings(max_examples=12, deadline=None)
@given(
    count=st.integers(1, 7),
    size=st.integers(1, 400),
    packer=st.sampled_from(sorted(COMPRESSORS)),
)
def test_shards_handle_fastq_qualities_that_begin_with_an_at_sign(
    tmp_path_factory, count, size, packer
):
    path = tmp_path_factory.mktemp("q") / "a.fq"
    text = fastq(size, seed=size).encode()
    path.write_bytes(COMPRESSORS[packer](text))
    rows = [
        (int(item["ordinal"]), item["id"], item["sequence"], item["quality"])
        for i in range(count)
        for item in SequenceStream(path).shard(i, count)
    ]
    lines = text.decode().splitlines()
    assert sorted(rows) == [
        (i, f"r{i}", lines[4 * i + 1].encode(), lines[4 * i + 3].encode())
        for i in range(size)
    ]


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_pytorch_loader_of_a_stream_delivers_each_record_once(files, workers):
    data = pytest.importorskip("torch.utils.data")
    stream = SequenceStream(files, shuffle_window=50).to_torch()
    loader = data.DataLoader(stream, batch_size=16, num_workers=workers)
    found = [int(i) for batch in loader for i in batch["ordinal"]]
    assert sorted(found) == list(range(RECORD_COUNT))


def test_ranks_and_workers_split_a_stream_without_loss(files):
    data = pytest.importorskip("torch.utils.data")
    found = []
    for rank in range(2):
        stream = SequenceStream(files).to_torch(rank=rank, world_size=2)
        loader = data.DataLoader(stream, batch_size=None, num_workers=2)
        found += [int(item["ordinal"]) for item in loader]
    assert sorted(found) == list(range(RECORD_COUNT))


def test_set_epoch_of_a_stream_reaches_persistent_workers(files):
    data = pytest.importorskip("torch.utils.data")
    stream = SequenceStream(files, shuffle_window=100)
    loader = data.DataLoader(
        stream.to_torch(), batch_size=None, num_workers=1, persistent_workers=True
    )
    for epoch in (3, 1):
        stream.set_epoch(epoch)
        found = [int(item["ordinal"]) for item in loader]
        alone = SequenceStream(files, shuffle_window=100)
        alone.set_epoch(epoch)
        assert found == ordinals(alone)


def test_the_error_for_a_stream_of_fasta_and_fastq_names_two_files(tmp_path):
    one, other = tmp_path / "a.fa", tmp_path / "b.fq"
    one.write_text(">x\nACGT\n")
    other.write_text("@y\nACGT\n+\nIIII\n")
    with pytest.raises(FormatError, match=r"b\.fq: FASTQ, but .*a\.fa is FASTA"):
        list(SequenceStream([one, other]))


def test_a_stream_rejects_an_invalid_quality_even_if_qualities_are_unused(tmp_path):
    path = tmp_path / "bad.fq"
    path.write_bytes(b"@a\nACGT\n+\nIIII\n@b\nACGT\n+\nII\x01I\n")
    stream = SequenceStream(str(path), encoder=OneHot("dna"))
    with pytest.raises(FormatError, match=r"line 8"):
        list(stream.batches(1))


def test_a_stream_rejects_mixed_fasta_and_fastq_even_if_qualities_are_unused(tmp_path):
    (tmp_path / "a.fa").write_text(">x\nACGT\n")
    (tmp_path / "b.fq").write_text("@y\nACGT\n+\nIIII\n")
    paths = [str(tmp_path / name) for name in ("a.fa", "b.fq")]
    stream = SequenceStream(paths, encoder=OneHot("dna"))
    with pytest.raises(FormatError, match=r"b\.fq: FASTQ, but .*a\.fa is FASTA"):
        list(stream.batches(1))


def backwards(letters, key, *, quality):
    """An augmentation that requires qualities."""
    return letters[::-1], quality[::-1]


@pytest.fixture
def reads(tmp_path):
    """A stream of two sequencing reads."""
    path = tmp_path / "reads.fq"
    path.write_text("@a\nAACC\n+\nIIII\n@b\nGGTT\n+\nIIII\n")
    return SequenceStream(path, encoder=OneHot("dna"))


def decode_bases(batch):
    return "".join("ACGT"[code] for code in batch["inputs"][0].argmax(0))


def test_an_augmentation_set_during_an_epoch_has_no_effect_on_the_epoch(reads):
    batches = reads.batches(1)
    next(batches)
    reads.augment = backwards
    assert decode_bases(next(batches)) == "GGTT"


def test_an_augmentation_set_in_one_epoch_gets_qualities_in_the_next(reads):
    next(reads.batches(1))
    reads.augment = backwards
    assert [decode_bases(batch) for batch in reads.batches(1)] == ["CCAA", "TTGG"]


@pytest.mark.parametrize("part", [0, 1])
def test_shards_of_fastq_in_two_compressions_contain_all_records(tmp_path, part):
    text = "".join(f"@r{i}\nACGT\n+\nIIII\n" for i in range(200)).encode()
    (tmp_path / "a.fq").write_bytes(text)
    (tmp_path / "b.fq.bz2").write_bytes(bz2.compress(text.replace(b"@r", b"@s")))
    paths = [str(tmp_path / name) for name in ("a.fq", "b.fq.bz2")]
    whole = SequenceDataset(paths, encoder=OneHot("dna"))
    for batch in SequenceStream(paths, encoder=OneHot("dna")).shard(part, 2).batches(30):
        np.testing.assert_equal(batch, whole.batch(np.array(batch["ordinal"])))
