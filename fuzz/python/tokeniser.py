"""Encode arbitrary text; shapes must match, and all tokens must be in the vocabulary."""

from __future__ import annotations

import numpy as np
from hostile import run

import seqloom as sl

_DNA = dict.fromkeys(("dna", "rna"), (1, 2, 3))
_ENCODERS = [
    sl.encode.Tokens("esm2"),
    *(sl.encode.Tokens(name, k=k) for name, sizes in _DNA.items() for k in sizes),
    sl.encode.Tokens("dna", case="mask", symbols="zeros", rna_as_dna=True),
    sl.encode.Tokens("esm2", unknown="mask", symbols="keep"),
    sl.encode.OneHot("protein", symbols="zeros", rare="unknown"),
    sl.encode.Integer("dna"),
    sl.encode.Kmer(3, "dna"),
]


def _try_one(data: bytes) -> None:
    encoder = _ENCODERS[data[0] % len(_ENCODERS)] if data else _ENCODERS[0]
    text = data[1:].decode("utf-8", "surrogateescape")
    tokens = np.asarray(encoder(text))
    rows = encoder.batch([text, ""])
    if isinstance(encoder, sl.encode.Tokens):
        assert tokens.min(initial=0) >= 0
        assert tokens.max(initial=0) < encoder.vocabulary_size
        assert len(encoder.decode(tokens)) <= len(text) + 2
    str(rows)


def _seeds() -> list[bytes]:
    texts = [
        b"",
        b"ACGTN",
        b"acgtu*",
        b"MKTLLX-.*",
        "ÄCG\N{GREEK SMALL LETTER ALPHA}".encode(),
    ]
    return [bytes([at]) + text for at in range(len(_ENCODERS)) for text in texts]


if __name__ == "__main__":
    run(_try_one, _seeds())
