"""A kernel that is built from encoder.json alone equals the encoder."""

import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import seqloom as sl
from exported_networks import ready
from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom.export._content import describe_encoder

RESIDUES_BY_ALPHABET = {
    "dna": "ACGTNRYacgtn",
    "rna": "ACGUNacgu",
    "protein": "ACDEFGHIKLMNPQRSTVWYXBZ",
}
EXPORTED_ENCODERS = [
    sl.encode.OneHot("dna"),
    sl.encode.OneHot("dna", channels="last", unknown="uniform"),
    sl.encode.OneHot("dna", unknown="fractional", dtype="float16"),
    sl.encode.OneHot("rna", case="mask", dtype="uint8"),
    sl.encode.OneHot("protein", unknown="fractional", rare="keep"),
    sl.encode.OneHot("protein", unknown="fractional", dtype="bfloat16"),
    sl.encode.Integer("dna"),
    sl.encode.Integer("protein", rare="replace", padding=0),
    sl.encode.Kmer(3),
    sl.encode.Kmer(2, canonical=True, stride=2, dtype="int32"),
    sl.encode.Kmer(2, counts=True),
    sl.encode.Kmer(2, counts=True, canonical=True, dtype="int64"),
    sl.encode.Tokens("esm2"),
    sl.encode.Tokens("esm2", unknown="mask", add_special_tokens=False),
    sl.encode.Tokens("dna"),
    sl.encode.Tokens("dna", k=3),
    sl.encode.Quality(),
    sl.encode.Quality("solexa", values="error_probability", dtype="float16"),
    sl.encode.Quality(values="error_probability", dtype="bfloat16"),
]


def bits(values, dtype):
    array = np.array(values, dtype)
    return array.view(f"u{array.itemsize}").reshape(-1)


def kernel_of(described):
    """Build the kernel from JSON, like a reader of the format."""
    options = dict(described)
    kind, dtype, letters = (options.pop(it) for it in ("kind", "dtype", "letters"))
    is_range = "first" in letters
    table = _native.Letters.range(**letters) if is_range else _native.Letters(**letters)
    specials = bits(options.pop("specials", [0]), dtype).tolist()
    make = _native.SequenceKernel
    if kind == "one_hot":
        rows = bits(options["rows"], dtype)
        return make.one_hot(table, rows, options["channels_first"])
    if kind in {"lookup", "quality"}:
        return make.lookup(table, bits(options["values"], dtype), specials)
    if kind == "kmers":
        return make.kmers(table, bits([0], dtype), specials=specials, **options)
    is_float = dtype.startswith("float")
    return make.kmer_counts(table, bits([0], dtype), is_float=is_float, **options)


def records(encoder):
    """Return residues that an encoder accepts."""
    if isinstance(encoder, sl.encode.Quality):
        letters = "".join(map(chr, range(64, 105)))
    else:
        letters = RESIDUES_BY_ALPHABET[encoder.alphabet]
    return st.lists(st.text(letters, min_size=1, max_size=12), min_size=1, max_size=5)


@pytest.mark.parametrize("encoder", EXPORTED_ENCODERS, ids=lambda it: it.to_json())
@settings(max_examples=25)
@given(data=st.data())
def test_the_encoder_of_an_export_equals_the_original_encoder(encoder, data):
    rows = Ragged.from_list(data.draw(records(encoder)))
    dtype = "int32" if hasattr(encoder, "mask_value") and not counts(encoder) else "float32"
    table = json.loads(json.dumps(describe_encoder(encoder, dtype), allow_nan=False))
    places = int(encoder.extents(rows).max())
    wanted = encoder.batch(rows, length=places)
    wanted = wanted.float().numpy() if hasattr(wanted, "numpy") else wanted.astype(dtype)
    found = np.empty(wanted.shape, dtype)
    out = found.view(f"u{found.itemsize}").reshape(-1)
    kernel_of(table["kernel"]).fill(rows.data, rows.offsets, out, None, 1)
    assert found.tobytes() == wanted.tobytes()


def counts(encoder):
    return isinstance(encoder, sl.encode.Kmer) and encoder.counts


@pytest.mark.parametrize("encoder", EXPORTED_ENCODERS, ids=lambda it: it.to_json())
def test_an_encoder_can_be_recreated_from_exported_settings(encoder):
    table = json.loads(json.dumps(describe_encoder(encoder, "float32")))
    assert sl.encode.OneHot.__base__.from_dict(table["settings"]) == encoder


def test_exported_encoders_return_the_dtype_of_the_network(tmp_path):
    encoder = sl.encode.OneHot("dna", dtype="uint8")
    model = ready(sl.models.SequenceCNNConfig(channels=4, outputs=2).build())
    model.to("numpy", "float64")
    sl.export.save(model, tmp_path / "model", encoder=encoder)
    table = json.loads((tmp_path / "model/encoder.json").read_text())
    assert table["kernel"]["dtype"] == "float64"
