from collections import OrderedDict, UserDict, UserList, defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.utils.data import default_collate as torch_collate

from seqloom.data import (
    DataLoader,
    PadCollator,
    SequenceDataset,
    VarlenCollator,
    default_collate,
)
from seqloom.data.collate._output import choose_converter
from seqloom.encode import OneHot, Tokens
from seqloom.errors import ArgumentError, ShapeError


class Items:
    """A custom dataset with an attribute ``encoder``."""

    def __init__(self, data):
        self.data, self.encoder = data, data.encoder

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index]


class Pair(NamedTuple):
    first: int
    second: float


ITEMS_BY_TYPE = {
    "integers": [1, 2, 3],
    "numbers": [0.5, 1.5],
    "truths": [True, False],
    "texts": ["a", "b"],
    "bytes": [b"a", b"b"],
    "arrays": [np.arange(3.0), np.ones(3)],
    "numpy numbers": [np.float32(1), np.float32(2)],
    "dicts": [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}],
    "ordered dicts": [OrderedDict(x=1), OrderedDict(x=2)],
    "tuples": [(1, "a"), (2, "b")],
    "lists": [[1, np.ones(2)], [2, np.zeros(2)]],
    "named tuples": [Pair(1, 0.5), Pair(2, 1.5)],
    "tensors": [torch.ones(2), torch.zeros(2)],
    "tensors of texts' dicts": [{"x": torch.tensor(1), "id": "a"}] * 2,
    "half tensors": [torch.ones(2, dtype=torch.bfloat16)] * 2,
    "numpy truths": list(np.array([True, False])),
    "numpy integers": [np.int16(3), np.int16(4)],
    "numpy texts": [np.str_("a"), np.str_("b")],
    "small arrays": [np.zeros((0, 3), np.uint8), np.zeros((0, 3), np.uint8)],
    "arrays without axes": [np.array(1), np.array(2)],
    "lists of nothing": [[], []],
    "tuples of tuples": [((1, 2), (3.0,)), ((4, 5), (6.0,))],
    "whole and broken numbers": [1.0, 2],
    "user dicts": [UserDict(x=1), UserDict(x=2)],
    "user lists": [UserList([1, "a"]), UserList([2, "b"])],
    "default dicts": [defaultdict(list, x=1), defaultdict(list, x=2)],
    "ranges": [range(3), range(3)],
    "nests": [{"x": (1, {"y": np.ones(2)})}, {"x": (2, {"y": np.ones(2)})}],
}


def plain(batch):
    """Return the types and values of a batch as Python objects, for any array library."""
    if isinstance(batch, (np.ndarray, torch.Tensor)):
        return str(batch.dtype).removeprefix("torch."), batch.tolist()
    if isinstance(batch, Mapping):
        return type(batch), {key: plain(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple, UserList)):
        return type(batch), [plain(value) for value in batch]
    return batch


@pytest.mark.parametrize("items", ITEMS_BY_TYPE.values(), ids=ITEMS_BY_TYPE.keys())
def test_default_collate_agrees_with_pytorch(items):
    assert plain(default_collate(items)) == plain(torch_collate(items))


def test_collating_arrays_of_unequal_length_suggests_pad_collator():
    with pytest.raises(ShapeError, match="PadCollator"):
        default_collate([np.ones(2), np.ones(3)])


def test_collating_lists_of_unequal_length_is_an_error():
    with pytest.raises(ShapeError, match="same number of elements"):
        default_collate([[1], [1, 2]])


def test_collating_converts_arrays_to_tensors_without_a_copy():
    assert isinstance(default_collate([torch.ones(2)] * 2), torch.Tensor)
    items = [{"x": np.arange(3.0)}, {"x": np.ones(3)}]
    batch = default_collate(items)
    tensor = choose_converter("torch", pin_memory=False)(batch)["x"]
    assert tensor.data_ptr() == batch["x"].ctypes.data


def test_collating_tensors_of_unequal_length_suggests_pad_collator():
    with pytest.raises(ShapeError, match="PadCollator"):
        default_collate([torch.ones(2), torch.ones(3)])


@pytest.mark.parametrize("items", [[np.array(["a"])] * 2, [np.array([None])] * 2])
def test_collating_string_or_object_arrays_is_an_error_as_in_pytorch(items):
    for collate in (default_collate, torch_collate):
        with pytest.raises(TypeError):
            collate(items)


def test_the_error_for_an_unsupported_item_type_names_the_type():
    with pytest.raises(TypeError, match="found NoneType"):
        default_collate([None, None])


def test_pad_collator_pads_at_the_end_and_masks_padding_with_0():
    batch = PadCollator(value=-1)([{"inputs": np.zeros((2, n)), "id": n} for n in (1, 3)])
    assert batch["inputs"][0].tolist() == [[0, -1, -1], [0, -1, -1]]
    assert batch["mask"].tolist() == [[1, 0, 0], [1, 1, 1]]
    assert (batch["lengths"].tolist(), batch["id"].tolist()) == ([1, 3], [1, 3])


@pytest.mark.parametrize(
    ("options", "places"), [({"length": 9}, 9), ({"multiple": 4}, 4), ({}, 3)]
)
def test_the_option_length_sets_the_length_of_padded_batches(options, places):
    batch = PadCollator(**options)([{"inputs": np.zeros((2, n))} for n in (1, 3)])
    assert batch["inputs"].shape == (2, 2, places)


def test_padding_an_item_longer_than_the_option_length_is_an_error():
    with pytest.raises(ShapeError, match="3 positions, more than length=2"):
        PadCollator(length=2)([{"inputs": np.zeros((4, 3))}])


@pytest.mark.parametrize(
    "options", [{"length": 0}, {"multiple": 0}, {"side": "up"}, {"keys": ()}]
)
def test_a_padding_length_below_one_is_an_error(options):
    with pytest.raises(ArgumentError):
        PadCollator(**options)


@pytest.mark.parametrize("channels", ["first", "last"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"length": 12},
        {"multiple": 4, "value": 7},
        {"side": "left"},
        {"side": "left", "value": -1, "length": 11},
    ],
    ids=str,
)
def test_padding_columns_of_sequences_equals_padding_items(fasta, channels, options):
    records = {f"s{i}": "ACGTACGTAC"[: 1 + i] for i in range(9)}
    data = SequenceDataset(
        fasta(records),
        encoder=OneHot("dna", channels=channels),
        labels=dict.fromkeys(records, 1) | {"s0": 0},
    )
    pad = PadCollator(axis=-1 if channels == "first" else 0, **options)
    rows = np.array([3, 0, 5])
    one_by_one, at_once = pad([data[i] for i in rows]), pad.columns(data, rows)
    assert list(one_by_one) == list(at_once)
    np.testing.assert_equal(one_by_one, at_once)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("value", [None, 9])
def test_padding_columns_of_tokens_equals_padding_items(fasta, side, value):
    tokens: Any = Tokens("dna")
    data = SequenceDataset(
        fasta({f"s{i}": "ACGTACGTAC"[: 1 + i] for i in range(9)}), encoder=tokens
    )
    pad = PadCollator(side=side, value=value, encoder=tokens)
    assert pad.takes_columns(tokens)
    rows = np.array([3, 0, 5])
    np.testing.assert_equal(pad([data[i] for i in rows]), pad.columns(data, rows))


def test_padding_uses_the_pad_value_of_the_encoder():
    items = [{"inputs": np.array([0, 5, 2])}, {"inputs": np.array([0, 5, 6, 2])}]
    batch = PadCollator(encoder=Tokens("esm2"))(items)
    assert batch["inputs"].tolist() == [[0, 5, 2, 1], [0, 5, 6, 2]]


def test_padding_tokens_needs_a_pad_value():
    items = [{"inputs": np.array([0, 5, 2])}, {"inputs": np.array([0, 5, 6, 2])}]
    with pytest.raises(ArgumentError, match="0 may be a token"):
        PadCollator()(items)


def test_the_loader_passes_the_pad_value_of_a_custom_dataset_to_the_collator(fasta):
    data = SequenceDataset(fasta({"a": "MK", "b": "MKT*"}), encoder=Tokens("esm2"))
    theirs, ours = (
        next(iter(DataLoader(each, 2, collate_fn=PadCollator())))
        for each in (Items(data), data)
    )
    assert theirs["inputs"].tolist() == ours["inputs"].tolist()


def test_pad_collator_does_not_count_a_dropped_stop_symbol(fasta):
    tokens: Any = Tokens("esm2")
    data = SequenceDataset(fasta({"a": "MKT*", "b": "M"}), encoder=tokens)
    assert data[0]["inputs"].tolist() == tokens("MKT").tolist()
    pad = PadCollator(encoder=tokens)
    batch = pad.columns(data, np.arange(2))
    np.testing.assert_equal(batch, pad([data[0], data[1]]))
    assert batch["mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]


@pytest.mark.parametrize("value", [-1, 256, 0.5, float("nan"), float("inf")])
def test_a_pad_value_that_does_not_fit_the_dtype_is_an_error(fasta, value):
    encoder: Any = OneHot("dna", dtype="uint8")
    data = SequenceDataset(fasta({"a": "AC", "b": "ACG"}), encoder=encoder)
    pad, rows = PadCollator(value=value), np.arange(2)
    with pytest.raises(
        ArgumentError, match=r"padding value .* uint8 \(integers from 0 to 255\)"
    ):
        pad([data[0], data[1]])
    with pytest.raises(
        ArgumentError, match=r"padding value .* uint8 \(integers from 0 to 255\)"
    ):
        pad.columns(data, rows)


@pytest.mark.parametrize("value", [-1, float("nan")])
def test_a_pad_value_that_does_not_fit_a_tensor_is_an_error(value):
    items = [{"inputs": torch.ones(n, dtype=torch.uint8)} for n in (1, 3)]
    with pytest.raises(ArgumentError, match="does not fit the dtype uint8"):
        PadCollator(value=value)(items)


def test_left_padding_is_placed_before_the_residues():
    items = [{"inputs": np.arange(1, n)} for n in (2, 4)]
    batch = PadCollator(side="left", value=0)(items)
    assert batch["inputs"].tolist() == [[0, 0, 1], [1, 2, 3]]
    assert batch["mask"].tolist() == [[0, 0, 1], [1, 1, 1]]


def test_keys_of_different_lengths_are_padded_with_separate_masks():
    items = [
        {"inputs": np.ones((4, n)), "quality": bytes([n] * n), "target": np.ones(2 * n)}
        for n in (1, 2)
    ]
    batch = PadCollator(keys=("inputs", "quality", "target"))(items)
    assert batch["inputs"].shape == (2, 4, 2)
    assert batch["quality"].tolist() == [[1, 0], [2, 2]]
    assert batch["target_lengths"].tolist() == [2, 4]
    assert batch["target_mask"].tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert "quality_mask" not in batch


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_tensors_returns_tensors(dtype, side):
    items = [{"inputs": torch.ones(n, dtype=dtype)} for n in (1, 3)]
    inputs = PadCollator(side=side, value=0)(items)["inputs"]
    expected = torch.nn.utils.rnn.pad_sequence(
        [item["inputs"] for item in items], batch_first=True, padding_side=side
    )
    assert torch.equal(inputs, expected)


def test_the_error_for_an_item_without_a_key_names_the_key():
    with pytest.raises(ArgumentError, match="lacks the key 'inputs'; it has id"):
        PadCollator()([{"id": "a"}])


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=9),
    st.integers(1, 5),
    st.sampled_from(["left", "right"]),
)
def test_the_padding_mask_selects_the_original_items(sizes, multiple, side):
    items = [{"inputs": np.arange(1, size + 1)} for size in sizes]
    batch = PadCollator(multiple=multiple, side=side, value=0)(items)
    rows = zip(batch["inputs"], batch["mask"] == 1, strict=True)
    assert [row[mask].tolist() for row, mask in rows] == [
        i["inputs"].tolist() for i in items
    ]
    assert batch["inputs"].shape[1] % multiple == 0


@pytest.mark.parametrize("collate", [PadCollator(), default_collate, VarlenCollator()])
def test_collating_an_empty_batch_is_an_error(collate):
    with pytest.raises(ArgumentError, match="a batch needs at least one item"):
        collate([])
