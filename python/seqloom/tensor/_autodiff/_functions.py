"""The functions of a level: what each does with followed arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from seqloom.tensor._autodiff._node import (
    Node,
    Traced,
    is_followable,
    node_of,
    numbers,
    record,
    traced,
)
from seqloom.tensor._rules._keep import likes_of_two

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._autodiff._level import Autodiff
    from seqloom.tensor._rules import Rule

    Function = Callable[..., Any]

# Functions of two arrays without options, called most often: recorded by the shortest way.
BINARY = frozenset(
    ("add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "matmul")
)


def function_of(
    level: Autodiff, name: str, plain: Function, rule: Rule | None, body: Function | None
) -> Function:
    """The inner function, followed by its rule, piece by piece, or not at all."""
    if rule and rule.followed:
        return _by_rule(level, name, plain, rule)
    return _piecewise(level, plain, body) if body and not rule else unfollowed(level, plain)


def _by_rule(level: Autodiff, name: str, plain: Function, rule: Rule) -> Function:
    """The inner function, recorded by its rule."""
    if rule.of_sequence:
        return _of_sequence(level, plain, rule)
    if name in BINARY:
        return _of_two(level, plain, rule)
    call = _of_any(level, plain, rule)
    return _floats_only(level, call) if name == "astype" else call


def _of_two(level: Autodiff, plain: Function, rule: Rule) -> Function:
    """A function of two arrays and no options."""
    save = rule.save
    if save is likes_of_two:
        return _of_terms(level, plain, rule)

    def call(left: Any, right: Any) -> Any:
        one = left.node if type(left) is Traced and left.level is level else None
        two = right.node if type(right) is Traced and right.level is level else None
        if one is None and two is None:
            return plain(left, right)
        values = left if one is None else left.value, right if two is None else right.value
        out = plain(*values)
        saved = save(values, out, (one is not None, two is not None), {})
        return traced(out, node_of(rule, (one, two), saved), level)

    return call


def _of_terms(level: Autodiff, plain: Function, rule: Rule) -> Function:
    """A function of two arrays that keeps only what they look like: sums cost least."""
    shorter = of_arrays(plain)

    def call(left: Any, right: Any) -> Any:
        one = two = kept = also = None
        if type(left) is Traced and left.level is level:
            one, left = left.node, left.value
            kept = left.shape, left.dtype
        if type(right) is Traced and right.level is level:
            two, right = right.node, right.value
            also = right.shape, right.dtype
        if one is None or two is None:
            out = plain(left, right)
            if one is two:
                return out
        else:
            out = shorter(left, right)
        # What `node_of` and `traced` do, without two calls.
        node, made = Node(), Traced()
        node.number, node.rule, node.parents = next(numbers), rule, (one, two)
        node.saved = kept, also
        made.value, made.node, made.level = out, node, level
        return made

    return call


def of_arrays(plain: Function) -> Function:
    """The shorter way to a function of two, where neither is a Python number."""
    return getattr(plain, "of_arrays", plain)


def _of_any(level: Autodiff, plain: Function, rule: Rule) -> Function:
    """A function of any number of arrays."""

    def call(*args: Any, **options: Any) -> Any:
        nodes = tuple(
            [
                arg.node if type(arg) is Traced and arg.level is level else None
                for arg in args
            ]
        )
        if not any(nodes):
            return plain(*args, **options)
        values = _values(args, nodes)
        return _recorded(level, rule, nodes, values, plain(*values, **options), options)

    return call


def _of_sequence(level: Autodiff, plain: Function, rule: Rule) -> Function:
    """A function whose first argument is a list of arrays."""

    def call(arrays: Sequence[Any], **options: Any) -> Any:
        nodes = tuple(
            [
                each.node if type(each) is Traced and each.level is level else None
                for each in arrays
            ]
        )
        if not any(nodes):
            return plain(arrays, **options)
        values = _values(arrays, nodes)
        return _recorded(
            level, rule, nodes, values, plain(list(values), **options), options
        )

    return call


def _values(args: Sequence[Any], nodes: tuple[Node | None, ...]) -> tuple[Any, ...]:
    """The inner array of each argument."""
    return tuple(
        [arg if node is None else arg.value for arg, node in zip(args, nodes, strict=True)]
    )


def _recorded(
    level: Autodiff,
    rule: Rule,
    nodes: tuple[Node | None, ...],
    values: tuple[Any, ...],
    out: Any,
    options: dict[str, Any],
) -> Any:
    """Keeps what the rule declares, and wraps what is followed of the result."""
    needs = tuple([node is not None for node in nodes])
    saved = rule.save(values, out, needs, options)
    if isinstance(out, (tuple, list)):
        return record(level, rule, nodes, saved, tuple(cast("list[Any]", out)))
    return traced(out, node_of(rule, nodes, saved), level)


def _floats_only(level: Autodiff, call: Function) -> Function:
    """A function whose result may be integers, which nothing follows."""

    def checked(*args: Any, **options: Any) -> Any:
        out = call(*args, **options)
        if type(out) is Traced and not is_followable(level.inner, out.value):
            return out.value
        return out

    return checked


def _piecewise(level: Autodiff, plain: Function, body: Function) -> Function:
    """A function without a rule: its default body on the level records each piece."""

    def call(*args: Any, **options: Any) -> Any:
        if is_followed(level, args):
            return body(level, *args, **options)
        return plain(*args, **options)

    return call


def is_followed(level: Autodiff, arg: Any) -> bool:
    """Says whether an argument is an array of this level, or holds one."""
    if isinstance(arg, (list, tuple)):
        return any(is_followed(level, each) for each in cast("list[Any]", arg))
    return type(arg) is Traced and arg.level is level


def unfollowed(level: Autodiff, plain: Function) -> Function:
    """A function whose result has no derivative."""

    def call(*args: Any, **options: Any) -> Any:
        return plain(*[value_of(level, arg) for arg in args], **options)

    return call


def value_of(level: Autodiff, arg: Any) -> Any:
    """The inner array of an argument, or of each in a list."""
    if type(arg) is Traced and arg.level is level:
        return arg.value
    if isinstance(arg, (list, tuple)):
        values = [value_of(level, item) for item in cast("list[Any]", arg)]
        return values if isinstance(arg, list) else tuple(values)
    return arg
