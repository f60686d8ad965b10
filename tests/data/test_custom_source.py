"""Methods of custom sources and encoders are called, and their results are checked."""

import re

import numpy as np
import pytest

import seqloom as sl
from seqloom._threads import supports_threads


class CustomSource(sl.data.Source):
    """A source of in-memory sequences, which the tests subclass."""

    kind, title = "lines", "CustomSource"

    def __init__(self, count=6):
        self.letters = ["ACGT"[row % 4] * 4 for row in range(count)]
        self.size = count

    def ids(self, rows):
        return [f"r{row}" for row in rows]

    def lengths(self, rows, encoder):
        del encoder
        return np.array([len(self.letters[row]) for row in rows], np.int64)

    def fetch(self, rows, options):
        del options
        names = [f"r{row}" for row in rows]
        return sl.data.Fetched.of(names, [self.letters[row] for row in rows])


class Doubled(sl.encode.OneHot):
    """An encoder that overrides ``batch``."""

    def batch(self, sequences, **options):
        return 2 * super().batch(sequences, length=options.get("length"))


class Tripled(sl.encode.OneHot):
    """An encoder that overrides ``__call__``."""

    def __call__(self, sequence, **_):
        return 3 * super().__call__(sequence)


class Inherited(Doubled):
    """An encoder that inherits an overridden method."""


class Declared(sl.encode.OneHot):
    """An encoder that overrides ``__call__`` and sets ``supports_native_batches``."""

    supports_native_batches = True

    def __call__(self, sequence, *, out=None):
        return super().__call__(sequence, out=out)


SEQUENCE_OF_ID = {"x": "ACGT", "y": "GG", "z": "TTT"}


@pytest.mark.parametrize(("kind", "value"), [(Doubled, 2), (Tripled, 3), (Inherited, 2)])
@pytest.mark.parametrize("workers", [0, 2])
def test_datasets_call_encoders_that_override_a_method(kind, value, workers):
    data = sl.data.SequenceDataset(SEQUENCE_OF_ID, encoder=kind("dna"))
    plain = data.replace(encoder=sl.encode.OneHot("dna"))
    assert plain.supports_native_batches
    assert not data.supports_native_batches
    expected = value * plain.to_numpy()["inputs"]
    assert (data.to_numpy()["inputs"] == expected).all()
    assert (data[1]["inputs"] == value * plain[1]["inputs"]).all()
    pad = sl.data.PadCollator(encoder=data.encoder)
    loader = sl.data.DataLoader(data, batch_size=3, collate_fn=pad, num_workers=workers)
    assert (next(iter(loader))["inputs"] == expected).all()


def test_an_encoder_subclass_may_declare_native_batches():
    data = sl.data.SequenceDataset(SEQUENCE_OF_ID, encoder=Declared("dna"))
    assert data.supports_native_batches


def test_streams_call_encoders_that_override_a_method(tmp_path):
    (tmp_path / "a.fa").write_text(">x\nACGT\n>y\nGGGG\n")
    stream = sl.data.SequenceStream(tmp_path / "a.fa", encoder=Tripled("dna"))
    batch = next(iter(stream.batches(2)))
    assert batch["inputs"].max() == 3


class ExtraTokens(sl.encode.Tokens):
    """A subclass of ``Tokens`` that overrides ``__call__``."""

    def __call__(self, sequence, **_):
        return np.asarray(super().__call__(sequence)) + 2


class ExtraTokensInBatch(sl.encode.Tokens):
    """A subclass of ``Tokens`` that overrides ``batch``."""

    def batch(self, sequences, **options):
        return super().batch(sequences, **options) + 2


@pytest.mark.parametrize("kind", [ExtraTokens, ExtraTokensInBatch])
def test_packing_calls_methods_overridden_in_a_tokens_subclass(tmp_path, kind):
    (tmp_path / "a.fa").write_text(">x\nMKV\n")
    expected = sl.encode.Tokens("esm2")("MKV") + 2
    stream = sl.data.PackedStream(tmp_path / "a.fa", tokens=kind("esm2"), max_tokens=8)
    assert next(iter(stream))["input_ids"].tolist() == expected.tolist()
    collate = sl.data.VarlenCollator(tokens=kind("esm2"))
    assert (
        collate([{"id": "x", "sequence": "MKV"}])["input_ids"].tolist() == expected.tolist()
    )


class WithColumn(CustomSource):
    """A source with a custom column and without the column ``ordinal``."""

    def columns(self, rows, epoch):
        del epoch
        return {"name": [f"n{row}" for row in rows]}


def test_a_dataset_adds_ordinals_to_the_columns_of_a_custom_source():
    flip = sl.augment.ReverseComplement(p=1.0)
    data = sl.data.Dataset(WithColumn(), encoder=sl.encode.OneHot("dna"), augment=flip)
    batch = data[2:4].batch([1, 0])
    assert batch["ordinal"].tolist() == [3, 2]
    assert batch["name"] == ["n3", "n2"]
    assert data.group("ordinal") == list(range(6))


def _drop_a_row(method):
    """Create a source whose method returns one row too few."""
    whole = getattr(WithColumn, method)

    def change(self, rows, *others):
        return whole(self, rows[:-1], *others)

    return type("Short", (WithColumn,), {method: change})


@pytest.mark.parametrize("method", ["fetch", "columns", "ids", "lengths"])
def test_a_custom_source_that_returns_too_few_rows_is_an_error(method):
    data = sl.data.Dataset(_drop_a_row(method)(), encoder=sl.encode.OneHot("dna"))
    with pytest.raises(sl.errors.ShapeError, match=rf"Short\.{method}.* 5 for 6 rows"):
        _ = data.to_numpy(), data.ids, data.lengths


@pytest.mark.parametrize("name", ["label", "inputs"])
def test_a_custom_source_column_with_a_reserved_name_is_an_error(name):
    columns = {"columns": lambda _, rows, __: {name: rows}}
    data = sl.data.Dataset(type("Taken", (CustomSource,), columns)())
    with pytest.raises(sl.errors.ArgumentError, match=rf"Taken\.columns .*'{name}'"):
        data.to_numpy()


class FromFile(CustomSource):
    """A source that threads cannot share."""


class Shared(CustomSource):
    """A source that threads can share."""

    supports_threads = True


def test_threads_share_a_custom_source_only_if_it_declares_support(tmp_path):
    encoder = sl.encode.OneHot("dna")
    assert not supports_threads(FromFile())
    assert not sl.data.Dataset(FromFile(), encoder=encoder).supports_threads
    assert sl.data.Dataset(Shared(), encoder=encoder).supports_threads
    for source, expected in ((FromFile(), False), (Shared(), True)):
        kept = sl.data.cached(sl.data.Dataset(source, encoder=encoder), tmp_path)
        assert kept.supports_threads is expected
    assert sl.data.SequenceDataset(SEQUENCE_OF_ID).supports_threads


def test_the_error_for_invalid_characters_names_record_and_file():
    source = CustomSource(20)
    source.letters[7] = "A!CG"
    data = sl.data.Dataset(source, encoder=sl.encode.OneHot("dna"))
    with pytest.raises(
        sl.errors.AlphabetError, match=r"^record 'r7', residue 1: found '!'"
    ):
        data.batch([3, 2, 7])
    source.paths = ("a.lines",)
    text = re.escape("a.lines: record 'r7', residue 1: found '!', expected ")
    with pytest.raises(sl.errors.AlphabetError, match=text):
        data.batch([3, 2, 7])
