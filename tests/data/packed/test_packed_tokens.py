"""Packed streams with a custom tokeniser or a Hugging Face tokenizer."""

from typing import Any

import numpy as np
import pytest

import seqloom.data
from packed_oracle import ESM2_VOCABULARY, parts_of, same_batches, tokens_of
from seqloom.encode import Tokens
from seqloom.errors import ArgumentError, ShapeError

PackedStream: Any = seqloom.data.PackedStream  # settings are passed as untyped dicts

PROTEINS_BY_ID = {f"r{i}": ("MKTVLAGERXBUZO" * 20)[i:][: 5 + 3 * i] for i in range(40)}


def test_packing_by_a_token_function_equals_packing_in_rust(fasta):
    path = fasta(PROTEINS_BY_ID)
    options = {"max_tokens": 300, "max_length": 50, "overlap": 7}
    ours = list(PackedStream(path, **options))
    theirs = PackedStream(path, lambda letters: tokens_of(letters.decode()), **options)
    assert same_batches(ours, list(theirs))


def test_tokens_of_any_dtype_are_packed_as_int32(fasta):
    path = fasta(PROTEINS_BY_ID)
    wanted = list(PackedStream(path))
    for dtype in ("uint8", "int64"):
        assert same_batches(list(PackedStream(path, Tokens("esm2", dtype=dtype))), wanted)


def test_records_of_kmer_tokens_are_not_split_when_packed(fasta):
    path = fasta({"a": "ACGTACGT", "b": "ACG"})
    tokens = Tokens("dna", k=3)
    (batch,) = PackedStream(path, tokens)
    rows = [row for *_, row in parts_of(batch)]
    assert rows == [tokens(letters).tolist() for letters in ("ACGTACGT", "ACG")]


def test_an_exception_of_a_token_function_names_the_record(fasta):
    def tokens(sequence):
        if sequence == b"MKT":
            raise ZeroDivisionError("mine")
        return [1, 2]

    path = fasta({"a": "M", "b": "MKT", "c": "MK"})
    found = []
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        found.extend(PackedStream(path, tokens))
    assert caught.value.__notes__ == [f"{path}: record 1 (b)"]
    assert [batch["ordinals"].tolist() for batch in found] == [[0]]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ([[1, 2]], ShapeError),
        ([1.5], ArgumentError),
        ([-1], ArgumentError),
        ([1 << 31], ArgumentError),
        (["M"], ArgumentError),
    ],
)
def test_an_invalid_result_of_a_token_function_is_an_error(fasta, given, kind):
    with pytest.raises(kind, match="the function returned"):
        list(PackedStream(fasta({"a": "M"}), lambda _: given))


def test_a_token_array_longer_than_max_tokens_is_an_error(fasta):
    path = fasta({"a": "M", "b": "MK"})
    with pytest.raises(ShapeError, match=r"record 1 \(b\): 2 residues are 20 tokens"):
        list(PackedStream(path, lambda letters: [0] * 10 * len(letters), max_tokens=15))


def test_token_functions_may_return_arrays_and_empty_lists(fasta):
    path = fasta({"a": "M", "b": "MK"})
    rows = {b"M": np.array([7], np.uint8), b"MK": []}
    (batch,) = PackedStream(path, rows.__getitem__)
    assert batch["cu_seqlens"].tolist() == [0, 1, 1]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """The Hugging Face tokenizer of ESM-2, created from its vocabulary."""
    transformers = pytest.importorskip("transformers")
    words = [*ESM2_VOCABULARY, "<null_1>", "<mask>"]
    path = tmp_path_factory.mktemp("hf") / "vocab.txt"
    path.write_text("\n".join(words))
    return transformers.EsmTokenizer(str(path))


def test_packing_by_a_hugging_face_tokenizer_equals_the_tokens_encoder(fasta, tokenizer):
    path = fasta(PROTEINS_BY_ID)
    options = {"max_tokens": 300, "max_length": 50, "overlap": 7}
    found = list(PackedStream(path, tokenizer, **options))
    assert same_batches(found, list(PackedStream(path, **options)))


def test_a_varlen_collator_accepts_a_hugging_face_tokenizer(tokenizer):
    items = [{"id": "a", "sequence": b"MK"}, {"id": "b", "sequence": "MKT"}]
    found = seqloom.data.VarlenCollator(tokens=tokenizer)(items)
    ours = seqloom.data.VarlenCollator(tokens=Tokens("esm2"))(items)
    assert found["input_ids"].tolist() == ours["input_ids"].tolist()


def test_a_tokenizer_that_merges_characters_is_an_error(fasta, tokenizer):
    path = fasta({"a": "MK", "b": "MJJK"})
    assert len(tokenizer("MJJK")["input_ids"]) == 5
    with pytest.raises(
        ShapeError, match=r"3 tokens for 4 residues.*sl\.encode\.Tokens"
    ) as caught:
        list(PackedStream(path, tokenizer))
    assert caught.value.__notes__ == [f"{path}: record 1 (b)"]
