"""GradientsAccumulator: one gradient from several small batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError
from seqloom.optim._operands import as_operand, as_tensor
from seqloom.optim._state import States, to_full
from seqloom.tensor import Gradients, Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqloom.nn import Module
    from seqloom.nn._stored import Param
    from seqloom.record import Record
    from seqloom.record._keys import KeyMap
    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._leaves import Leaf


class GradientsAccumulator:
    """Adds the gradients of small batches up, for the step of a batch that is too large.

    `accumulate` adds the gradients of one small batch, and `take` returns their mean: the
    gradients of the mean loss of all records. A compiled step may call both. Sums of half
    precision are in float32.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(1, 1, bias=False).bind("numpy", sl.Key(0))
        >>> follow = sl.nn.value_and_grad(lambda layer, x: layer(x).mean())
        >>> accumulator = sl.optim.GradientsAccumulator()
        >>> for rows in ([[1.0], [2.0], [3.0]], [[10.0]]):
        ...     _, grads = follow(layer, layer.backend.tensor(rows))
        ...     accumulator.accumulate(layer, grads, weight=len(rows))
        >>> accumulator.take(layer).wrt(layer.weight).item()
        4.0
    """

    def __init__(self) -> None:
        self._states = States(is_full=True)

    @property
    def weight(self) -> int:
        """Sum of the weights since the last `take`."""
        return self._states.counts.total.number

    def accumulate(self, model: Module, grads: Gradients, *, weight: int = 1) -> None:
        """Adds gradients.

        Args:
            model: Model that the gradients belong to.
            grads: Gradients that `value_and_grad` returned for this model.
            weight: Weight in the mean: for a mean loss, the number of records of the batch.

        Raises:
            ArgumentError: No gradient belongs to a parameter of `model`, the accumulator
                has the sums of another model, or `weight` is not an integer from 1 up.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(1, 1).bind("numpy", sl.Key(0))
            >>> x = layer.backend.tensor([[1.0]])
            >>> _, grads = sl.nn.value_and_grad(lambda layer: layer(x).sum())(layer)
            >>> accumulator = sl.optim.GradientsAccumulator()
            >>> accumulator.accumulate(layer, grads)
            >>> accumulator.weight
            1
        """
        share = as_integer("weight", weight, least=1)
        params = [param for _, param in model.parameters()]
        pairs = [(p, g) for p in params if (g := grads.get(p.id)) is not None]
        if not pairs:
            raise ArgumentError(
                "no gradient belongs to a parameter of this model; pass the model and the "
                "gradients of the same value_and_grad call"
            )
        self._states.follow()
        self._states.claim([param for param, _ in pairs], params)
        for param, grad in pairs:
            state = self._states.of(param, _start, grads.backend)
            added = as_tensor(grad, grads.backend) * share
            new = Tensor(state["sum"], grads.backend) + added
            self._states.put(param.path, {"sum": new.raw})
        total = self._states.counts.total
        total.put(total.next(grads.backend, by=share))

    def take(self, model: Module) -> Gradients:
        """Returns the mean of the gradients, and begins again at 0.

        Args:
            model: Model of the gradients.

        Returns:
            Gradients for `Optimizer.step`. A parameter that had no gradient in a batch
            counts as if that gradient was 0; one that is frozen now has none.

        Raises:
            ArgumentError: There are no gradients since the last call, or the accumulator
                has the sums of another model.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(1, 1).bind("numpy", sl.Key(0))
            >>> try:
            ...     sl.optim.GradientsAccumulator().take(layer)
            ... except sl.errors.ArgumentError as error:
            ...     print(error)
            no gradients were accumulated; call accumulate(model, grads) before take
        """
        every = [param for _, param in model.parameters()]
        self._states.follow()
        known = set(self._states.paths())
        params = [param for param in every if param.path in known]
        # A captured step cannot know whether something was added.
        is_captured = bool(params) and hasattr(params[0].bound_backend, "admit")
        if not params or not (is_captured or self.weight):
            raise ArgumentError(
                "no gradients were accumulated; call accumulate(model, grads) before take"
            )
        self._states.claim(params, every)
        backend = params[0].bound_backend
        total = self._states.counts.total.next(backend, by=0)
        means: dict[int, Array] = {}
        for param in params:
            found = Tensor(self._states.of(param, _start, backend)["sum"], backend)
            mean = (found / as_operand(total, found)).astype(param.dtype)
            self._states.put(param.path, {"sum": (found * 0).raw})
            if param.trainable:
                means[param.id] = mean.raw
        self._states.counts.total.put(
            0 if isinstance(total, int) else backend.multiply(total, 0)
        )
        return Gradients(means, backend)

    def to_record(self) -> Record:
        """Returns the sums by path, and the sum of the weights.

        Returns:
            A record of copies; later calls do not change it.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.GradientsAccumulator().to_record().metadata
            {'step_count': 0}
        """
        return self._states.to_record()

    def load_record(self, record: Mapping[str, Any], *, keys: KeyMap | None = None) -> Self:
        """Sets the sums from a record.

        Args:
            record: Record that `to_record` returned.
            keys: Paths in the model by paths in the record, as of `Module.load_record`, if
                parameters have other paths now; the paths are those of parameters.

        Returns:
            This accumulator.

        Raises:
            RecordError: `record` is not that of an accumulator.

        Examples:
            >>> import seqloom as sl
            >>> accumulator = sl.optim.GradientsAccumulator()
            >>> accumulator.load_record(accumulator.to_record()).weight
            0
        """
        self._states.load_record(record, keys, lambda _: ("sum",))
        return self

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Returns what selects the program of a compiled step, and the arrays it writes.

        Returns:
            The class and the paths; the sums and the counter.

        Examples:
            >>> import seqloom as sl
            >>> len(sl.optim.GradientsAccumulator().leaves()[1])
            1
        """
        self._states.follow()
        static, leaves = self._states.leaves()
        return (type(self), static), leaves


def _start(param: Param, backend: Backend) -> dict[str, Array]:
    """Makes the sum of a parameter before its first gradient."""
    return {"sum": backend.zeros(param.shape, dtype=to_full(param.dtype))}
