"""The functions of a level: what each does with tracked arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from seqloom.tensor._families._keep import likes_of_two
from seqloom.tensor._tape import (
    Node,
    TrackedArray,
    is_differentiable,
    make_node,
    node_numbers,
    record,
    track,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._families import Array, Rule
    from seqloom.tensor._tape import Level

    Function = Callable[..., Any]  # of arrays
    Nodes = tuple[Node | None, ...]

# Functions of two arrays without options, called most often: recorded by the shortest way.
BINARY = frozenset(
    ("add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "matmul")
)


def make_function(
    level: Level, name: str, plain: Function, rule: Rule | None, body: Function | None
) -> Function:
    """Makes a level's function: recorded by its rule, by its pieces, or not at all."""
    if rule and rule.tracked:
        return _by_rule(level, name, plain, rule)
    if body and not rule:
        return _by_pieces(level, plain, body)
    return make_untracked(level, plain)


def _by_rule(level: Level, name: str, plain: Function, rule: Rule) -> Function:
    """Makes the inner function, recorded by its rule."""
    if rule.of_sequence:
        return _of_sequence(level, plain, rule)
    if name in BINARY:
        return _of_two(level, plain, rule)
    call = _of_any(level, plain, rule)
    return _floats_only(level, call) if name == "astype" else call


def _of_two(level: Level, plain: Function, rule: Rule) -> Function:
    """Makes a function of two arrays and no options."""
    save = rule.save
    if save is likes_of_two:
        return _of_terms(level, plain, rule)

    # `node_on` written out here and below: these functions run at each step.
    def call(left: Array, right: Array) -> Array:
        one = left.node if type(left) is TrackedArray and left.level is level else None
        two = right.node if type(right) is TrackedArray and right.level is level else None
        if one is None and two is None:
            return plain(left, right)
        values = left if one is None else left.value, right if two is None else right.value
        out = plain(*values)
        saved = save(values, out, (one is not None, two is not None), {})
        return track(out, make_node(rule, (one, two), saved), level)

    return call


def _of_terms(level: Level, plain: Function, rule: Rule) -> Function:
    """Makes a function of two that saves only shapes and types, such as a sum: cheapest."""
    shorter = without_numbers(plain)

    def call(left: Array, right: Array) -> Array:
        one = two = left_like = right_like = None
        if type(left) is TrackedArray and left.level is level:
            one, left = left.node, left.value
            left_like = left.shape, left.dtype
        if type(right) is TrackedArray and right.level is level:
            two, right = right.node, right.value
            right_like = right.shape, right.dtype
        if one is None or two is None:
            out = plain(left, right)
            if one is two:
                return out
        else:
            out = shorter(left, right)
        # `make_node` and `track` written out, which saves two calls.
        node, array = Node(), TrackedArray()
        node.number, node.rule, node.parents = next(node_numbers), rule, (one, two)
        node.saved = left_like, right_like
        array.value, array.node, array.level = out, node, level
        return array

    return call


def without_numbers(plain: Function) -> Function:
    """Returns the faster form of a function of two for arrays only, not Python numbers."""
    return getattr(plain, "of_arrays", plain)


def _of_any(level: Level, plain: Function, rule: Rule) -> Function:
    """Makes a function of any number of arrays."""

    def call(*args: Array, **options: object) -> Array:
        nodes = tuple(
            [
                arg.node if type(arg) is TrackedArray and arg.level is level else None
                for arg in args
            ]
        )
        if not any(nodes):
            return plain(*args, **options)
        values = _values(args, nodes)
        return _record(level, rule, nodes, values, plain(*values, **options), options)

    return call


def _of_sequence(level: Level, plain: Function, rule: Rule) -> Function:
    """Makes a function whose first argument is a list of arrays."""

    def call(arrays: Sequence[Array], **options: object) -> Array:
        nodes = tuple(
            [
                array.node if type(array) is TrackedArray and array.level is level else None
                for array in arrays
            ]
        )
        if not any(nodes):
            return plain(arrays, **options)
        values = _values(arrays, nodes)
        out = plain(list(values), **options)
        return _record(level, rule, nodes, values, out, options)

    return call


def _values(args: Sequence[Array], nodes: Nodes) -> tuple[Array, ...]:
    """Returns the inner array of each argument."""
    return tuple(
        [arg if node is None else arg.value for arg, node in zip(args, nodes, strict=True)]
    )


def _record(
    level: Level,
    rule: Rule,
    nodes: Nodes,
    values: tuple[Array, ...],
    out: Array,
    options: dict[str, object],
) -> Array:
    """Saves what the rule declares, and tracks the result."""
    needs = tuple([node is not None for node in nodes])
    saved = rule.save(values, out, needs, options)
    if isinstance(out, (tuple, list)):
        return record(level, rule, nodes, saved, tuple(cast("list[Array]", out)))
    return track(out, make_node(rule, nodes, saved), level)


def _floats_only(level: Level, call: Function) -> Function:
    """Makes a function whose result may be integers, which are not tracked."""

    def call_and_check(*args: Array, **options: object) -> Array:
        out = call(*args, **options)
        if type(out) is TrackedArray and not is_differentiable(level.inner, out.value):
            return out.value
        return out

    return call_and_check


def _by_pieces(level: Level, plain: Function, body: Function) -> Function:
    """Makes a function without a rule: its default body on the level records each piece."""

    def call(*args: Array, **options: object) -> Array:
        if _is_tracked(level, args):
            return body(level, *args, **options)
        return plain(*args, **options)

    return call


def _is_tracked(level: Level, arg: Array) -> bool:
    """Whether an argument is a tracked array of this level, or contains one."""
    if isinstance(arg, (list, tuple)):
        return any(_is_tracked(level, part) for part in cast("list[Array]", arg))
    return type(arg) is TrackedArray and arg.level is level


def make_untracked(level: Level, plain: Function) -> Function:
    """Makes a function whose result has no derivative."""

    def call(*args: Array, **options: object) -> Array:
        return plain(*[_inner(level, arg) for arg in args], **options)

    return call


def _inner(level: Level, arg: Array) -> Array:
    """Returns the inner array of an argument, also within lists and tuples."""
    if type(arg) is TrackedArray and arg.level is level:
        return arg.value
    if isinstance(arg, (list, tuple)):
        values = [_inner(level, item) for item in cast("list[Array]", arg)]
        return values if isinstance(arg, list) else tuple(values)
    return arg
