"""Vocabularies of tokens, each in the order of its numbers."""

from __future__ import annotations

from itertools import product

_FIRST = ("<cls>", "<pad>", "<eos>", "<unk>")
_MASK = "<mask>"

# The published list of ESM-2 (Lin et al. 2023), which all its checkpoints share.
ESM2 = (
    *_FIRST,
    *"LAGVSERTIDPKQNFYMHWCXBUZO.-",
    *("<null_1>", _MASK),
)


def vocabulary_of(name: str, letters: str, *, k: int) -> tuple[str, ...]:
    """Lists the tokens of a vocabulary.

    Args:
        name: ``"esm2"``, or an alphabet.
        letters: The alphabet's members.
        k: How many letters make a token.

    Returns:
        The tokens, in the order of their numbers.

    Examples:
        >>> vocabulary_of("dna", "ACGT", k=1)
        ('<cls>', '<pad>', '<eos>', '<unk>', 'A', 'C', 'G', 'T', 'N', '<mask>')
        >>> len(vocabulary_of("dna", "ACGT", k=3))
        69
    """
    if name == "esm2":
        return ESM2
    words = ("".join(word) for word in product(letters, repeat=k))
    return (*_FIRST, *words, *(["N"] if k == 1 else []), _MASK)
