"""Einsum, computed with transpositions and matrix products."""

from __future__ import annotations

import math
import string
from functools import lru_cache
from string import ascii_letters
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, ShapeError
from seqloom.tensor._families._rule import Parts, Rule, add_grad, unbroadcast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, Needs, Options


# Default implementations ---------------------------------------------------------------


Term = tuple[Any, str]
_AXIS_LABELS = frozenset(string.ascii_letters)


def einsum(b: Functions, equation: str, *operands: Array) -> Array:
    """Contract the operands, from left to right."""
    require_diagonals(equation, operands)
    labels, out = _parse_equation(equation, tuple(len(x.shape) for x in operands))
    terms = [_take_diagonals(b, term) for term in zip(operands, labels, strict=True)]
    current, *rest = terms
    for position, term in enumerate(rest):
        needed = set(out).union(*(each for _, each in rest[position + 1 :]))
        current = _contract_pair(b, current, term, needed)
    x, have = _sum_unneeded(b, current, set(out))
    order = tuple(have.index(label) for label in out)
    return b.permute_dims(x, order) if order != tuple(range(len(order))) else x


@lru_cache(maxsize=256)
def _parse_equation(equation: str, ranks: tuple[int, ...]) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result; each ellipsis becomes labels."""
    equation = equation.replace(" ", "")
    _require_terms(equation, ranks)
    left, arrow, out = equation.partition("->")
    free = [letter for letter in string.ascii_letters if letter not in equation]
    spans = {
        term: rank - len(term.replace("...", ""))
        for term, rank in zip(left.split(","), ranks, strict=True)
        if "..." in term
    }
    widest = max(spans.values(), default=0)
    names = "".join(free[:widest])
    labels = [
        term.replace("...", names[widest - spans.get(term, 0) :])
        for term in left.split(",")
    ]
    if not arrow:
        every = "".join(labels)
        out = names + "".join(
            sorted(label for label in set(every) - set(names) if every.count(label) == 1)
        )
    return labels, out.replace("...", names)


def _require_terms(equation: str, ranks: tuple[int, ...]) -> None:
    """Raise if an equation does not match the number and the axes of its operands."""
    left, _, out = equation.partition("->")
    terms = left.split(",")
    fits = len(terms) == len(ranks) and len(set(out) - {"."}) == len(out.replace("...", ""))
    for term, rank in zip(terms, ranks, strict=False):
        labels = term.replace("...", "", 1)
        fits = fits and set(labels) <= _AXIS_LABELS
        fits = fits and (len(labels) <= rank if labels != term else len(labels) == rank)
    if not fits or not set(out.replace("...", "", 1)) <= set(left) & _AXIS_LABELS:
        raise ArgumentError(
            f"einsum: {equation!r} does not fit operands of {list(ranks)} axes. Give a "
            "label for each axis, commas between operands, and each label at most once in "
            'the result, as in "ij,jk->ik"'
        )


def require_diagonals(equation: str, operands: tuple[Array, ...]) -> None:
    """Raise if two axes of one operand have the same label but different lengths."""
    labels, _ = _parse_equation(equation, tuple(len(x.shape) for x in operands))
    for x, letters in zip(operands, labels, strict=True):
        lengths: dict[str, int] = {}
        for letter, length in zip(letters, x.shape, strict=True):
            if lengths.setdefault(letter, length) != length:
                raise ShapeError(
                    f"einsum: {letter!r} names two axes of one operand, with the lengths "
                    f"{lengths[letter]} and {length}; they must be equal"
                )


def _take_diagonals(b: Functions, term: Term) -> Term:
    """If several axes share a label, replace them by their diagonal."""
    x, labels = term
    for label in labels:
        while labels.count(label) > 1:
            first, second = (i for i, letter in enumerate(labels) if letter == label)
            size = x.shape[first]
            is_on_diagonal = b.reshape(
                b.eye(size, dtype="bool"),
                tuple(
                    size if axis in {first, second} else 1 for axis in range(len(labels))
                ),
            )
            # Multiplying by zeros would turn infinities outside the diagonal into NaN.
            zero = b.full((), 0, dtype=b.dtype(x))
            x = b.sum(b.where(is_on_diagonal, x, zero), axis=second)
            labels = labels[:second] + labels[second + 1 :]
    return x, labels


def _sum_unneeded(b: Functions, term: Term, needed: Iterable[str]) -> Term:
    """Sum over the axes whose labels are not in `needed`."""
    x, labels = term
    axes = tuple(i for i, label in enumerate(labels) if label not in needed)
    return (
        b.astype(b.sum(x, axis=axes), b.dtype(x)) if axes else x,
        "".join(label for label in labels if label in needed),
    )


def _contract_pair(b: Functions, left: Term, right: Term, needed: set[str]) -> Term:
    """Return the product of two operands, computed as one matrix product."""
    left = _sum_unneeded(b, left, needed | set(right[1]))
    right = _sum_unneeded(b, right, needed | set(left[1]))
    both = [label for label in left[1] if label in right[1]]
    batch = [label for label in both if label in needed]
    gone = [label for label in both if label not in needed]
    rows = [label for label in left[1] if label not in both]
    columns = [label for label in right[1] if label not in both]
    sizes = _merge_sizes(_label_sizes(left), _label_sizes(right))
    one = _to_matrix(b, left, (batch, rows, gone), sizes)
    other = _to_matrix(b, right, (batch, gone, columns), sizes)
    labels = "".join([*batch, *rows, *columns])
    shape = tuple(sizes[label] for label in labels)
    return b.reshape(b.matmul(one, other), shape), labels


def _to_matrix(
    b: Functions, term: Term, groups: tuple[list[str], ...], sizes: dict[str, int]
) -> Array:
    """Return the operand as a batch of matrices, by merging its axes into three groups."""
    x, labels = term
    wanted = [label for group in groups for label in group]
    x = b.permute_dims(x, tuple(labels.index(label) for label in wanted))
    shape = tuple(sizes[label] for label in wanted)
    if tuple(x.shape) != shape:
        x = b.broadcast_to(x, shape)
    return b.reshape(
        x, tuple(math.prod(sizes[label] for label in group) for group in groups)
    )


def _merge_sizes(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    """Return the length of each label; a length of 1 broadcasts to another length."""
    return left | {label: n for label, n in right.items() if n != 1 or label not in left}


def _label_sizes(term: Term) -> dict[str, int]:
    """Return the length of the axis of each label."""
    return dict(zip(term[1], term[0].shape, strict=True))


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {}


def _save_factors(args: Args, _out: Array, needs: Needs, _options: Options) -> Any:
    """Save the equation, the operands that other gradients need, and all shapes."""
    formula, *factors = args
    kept = [
        factor
        if any(need for other, need in enumerate(needs[1:]) if other != position)
        else None
        for position, factor in enumerate(factors)
    ]
    return formula, kept, [tuple(factor.shape) for factor in factors]


@add_grad(GRAD_RULES, "einsum", save=_save_factors)
def _grad_einsum(b: Functions, saved: Any, grad: Array, needs: Needs) -> Parts:
    formula, factors, shapes = saved
    terms, result = _parse_equation(formula, tuple(len(shape) for shape in shapes))
    # The length of the axes with each label.
    found: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, size in zip(term, shape, strict=True):
            found[letter] = max(found.get(letter, 1), size)
    sizes = found
    parts: list[Array | None] = [None]
    for position, (need, shape) in enumerate(zip(needs[1:], shapes, strict=True)):
        if not need:
            parts.append(None)
            continue
        others = [(terms[i], factor) for i, factor in enumerate(factors) if i != position]
        part = _grad_factor(b, terms[position], [(result, grad), *others], sizes)
        parts.append(unbroadcast(b, part, shape))
    return parts


def _grad_factor(
    b: Functions, wanted: str, known: list[tuple[str, Any]], sizes: Any
) -> Array:
    """Return the gradient of an operand: the sum over the labels that the operand lacks."""
    dtype, seen = known[0][1].dtype, "".join(term for term, _ in known)
    unique = ""
    for letter in wanted:
        if letter in unique:  # The gradient of a diagonal is 0 outside the diagonal.
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
