"""Sums of products by a formula: the gradient by one factor is such a sum again."""

from __future__ import annotations

from string import ascii_letters
from typing import TYPE_CHECKING, Any

from seqloom.tensor._rules._broadcast import unbroadcast
from seqloom.tensor._rules._rule import Parts, Rule

if TYPE_CHECKING:
    from seqloom.tensor._defaults import Array, ArrayFunctions
    from seqloom.tensor._rules import _keep as keep


def _keep(args: keep.Args, _out: Any, needs: keep.Needs, _options: Any) -> Any:
    """The formula, the factors that another one's gradient needs, and all shapes."""
    formula, *factors = args
    kept = [
        factor
        if any(need for other, need in enumerate(needs[1:]) if other != position)
        else None
        for position, factor in enumerate(factors)
    ]
    return formula, kept, [tuple(factor.shape) for factor in factors]


def _einsum(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    formula, factors, shapes = saved
    terms, result = _letters(formula, shapes)
    sizes = _sizes(terms, shapes)
    parts: list[Array | None] = [None]
    for position, (need, shape) in enumerate(zip(needs[1:], shapes, strict=True)):
        if not need:
            parts.append(None)
            continue
        others = [(terms[i], factor) for i, factor in enumerate(factors) if i != position]
        part = _by_factor(b, terms[position], [(result, grad), *others], sizes)
        parts.append(unbroadcast(b, part, shape))
    return parts


def _by_factor(
    b: ArrayFunctions, wanted: str, known: list[tuple[str, Any]], sizes: Any
) -> Array:
    """The sum over all but the wanted letters; a letter known nowhere is repeated."""
    dtype, seen = known[0][1].dtype, "".join(term for term, _ in known)
    unique = ""
    for letter in wanted:
        if letter in unique:  # a diagonal: its gradient stands on the diagonal
            new = next(
                character
                for character in ascii_letters
                if character not in seen + unique + wanted
            )
            known = [*known, (letter + new, b.eye(sizes[letter], dtype=dtype))]
            unique += new
            continue
        if letter not in seen:
            known = [*known, (letter, b.ones((sizes[letter],), dtype=dtype))]
        unique += letter
    formula = ",".join(term for term, _ in known) + "->" + unique
    return b.einsum(formula, *(each for _, each in known))


def _letters(formula: str, shapes: list[tuple[int, ...]]) -> tuple[list[str], str]:
    """Each factor's letters and the result's; ``...`` written out as letters."""
    left, arrow, result = formula.replace(" ", "").partition("->")
    terms = left.split(",")
    spare = [letter for letter in ascii_letters if letter not in formula]
    widths = [
        len(shape) - len(term.replace("...", "")) if "..." in term else 0
        for term, shape in zip(terms, shapes, strict=True)
    ]
    rest = "".join(spare[: max(widths)])
    full = [
        term.replace("...", rest[len(rest) - width :])
        for term, width in zip(terms, widths, strict=True)
    ]
    if not arrow:
        named = left.replace(",", "").replace("...", "")
        once = sorted(letter for letter in set(named) if named.count(letter) == 1)
        return full, rest + "".join(once)
    return full, result.replace("...", rest)


def _sizes(terms: list[str], shapes: list[tuple[int, ...]]) -> dict[str, int]:
    """The length that each letter stands for."""
    found: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, size in zip(term, shape, strict=True):
            found[letter] = max(found.get(letter, 1), size)
    return found


RULES: dict[str, Rule] = {"einsum": Rule(_keep, _einsum)}
