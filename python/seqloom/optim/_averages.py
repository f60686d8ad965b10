"""Averages of weights over steps, and sums of gradients over batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, RecordError
from seqloom.optim._settings import as_step_number, as_tensor, require_setting
from seqloom.optim._state import OptimizerStates, pair_gradients, widen_half
from seqloom.tensor import Gradients, Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqloom.nn import Module
    from seqloom.nn._parameters import Param
    from seqloom.record import Record
    from seqloom.record._keys import KeyMap
    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._leaves import Leaf


class WeightAverage:
    """Average of a model's parameters over training; averaged models often predict better.

    With `decay`, the average is an exponential moving average (EMA, Polyak and Juditsky
    1992). Without `decay`, all updates have equal weights (SWA, Izmailov et al. 2018).
    Buffers are not averaged. `update` may be called in a compiled step. Parameters in
    half precision are averaged in float32.

    Args:
        decay: Weight of the old average in an update, in [0, 1); default: equal weights.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(1, 1, bias=False).bind("numpy", sl.Key(0))
        >>> average = sl.optim.WeightAverage()
        >>> for value in (1.0, 2.0, 6.0):
        ...     layer.weight.assign([[value]])
        ...     average.update(layer)
        >>> average.apply_average(layer).weight.numpy().item()
        3.0
    """

    def __init__(self, decay: float | None = None) -> None:
        self.decay = None if decay is None else require_setting("decay", decay, below=1)
        # In bfloat16, small changes would round to 0.
        self._states = OptimizerStates(is_full=True)

    @property
    def update_count(self) -> int:
        """Number of times that `update` was called."""
        return self._states.counts.total.number

    def update(self, model: Module) -> None:
        """Add the current parameters to the average.

        Args:
            model: Model in training.

        Raises:
            ArgumentError: The average was created from a different model.
            RecordError: The model has no parameters.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(1, 1).bind("numpy", sl.Key(0))
            >>> average = sl.optim.WeightAverage(0.999)
            >>> average.update(layer)
            >>> average.update_count
            1
        """
        params = [param for _, param in model.parameters()]
        if not params:
            raise RecordError(f"{type(model).__name__} has no parameters to average")
        self._states.update_paths()
        self._states.set_owner_params(params, params)
        backend = params[0].value.backend
        count, decay = self._states.counts.total.next(backend), self.decay
        for param in params:
            state = self._states.prepare(param, _create_mean, backend)
            old = Tensor(state["mean"], backend)
            values = as_tensor(param.storage(), backend)
            number = as_step_number(count, old)
            # The first update replaces the initial zeros.
            share = 1 / number if decay is None else 1 - decay * (number > 1)
            new = old + (values - old) * share
            self._states.set_arrays(param.path, {"mean": new.raw})
        self._states.counts.total.put(count)

    def apply_average(self, model: Module) -> Any:
        """Return a copy of a model with the averaged parameters.

        The copy has the buffers of `model`. The running statistics of batch norm belong
        to the unaveraged parameters: to update them, run the copy on some batches in
        training mode.

        Args:
            model: Model that was averaged.

        Returns:
            A new model; `model` does not change.

        Raises:
            RecordError: The average is empty, or lacks a parameter of `model`.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(1, 1).bind("numpy", sl.Key(0))
            >>> average = sl.optim.WeightAverage(0.5)
            >>> average.update(layer)
            >>> average.apply_average(layer)(layer.backend.tensor([[1.0]])).shape
            (1, 1)
        """
        if not self.update_count:
            raise RecordError("this average is empty; call update(model) after each step")

        self._states.update_paths()
        paths = {path: param.path for path, param in model.parameters()}

        def get_average(path: str, values: Tensor) -> Tensor:
            if path not in paths:  # a buffer, which is not averaged
                return values
            mean = self._states.find_tensor(paths[path], "mean", values)
            if mean is None:
                raise RecordError(
                    f"this average has no values of {path}; pass the model that was "
                    "averaged, or load_record(average.to_record(), "
                    'keys={"old": "new"}) if its paths have changed'
                )
            return mean

        return model.map(get_average)

    def to_record(self) -> Record:
        """Return the averages by path, with the number of updates as metadata.

        Returns:
            A record of copies; later updates do not change it.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.WeightAverage().to_record().metadata
            {'step_count': 0}
        """
        return self._states.to_record()

    def load_record(self, record: Mapping[str, Any], *, keys: KeyMap | None = None) -> Self:
        """Load averages and number of updates from a record.

        Args:
            record: Record that `to_record` returned.
            keys: Dict from parameter paths in the record to paths in the model, as in
                `Module.load_record`, for renamed parameters.

        Returns:
            This average.

        Raises:
            RecordError: `record` does not come from an average.

        Examples:
            >>> import seqloom as sl
            >>> average = sl.optim.WeightAverage()
            >>> average.load_record(average.to_record()).update_count
            0
        """
        self._states.load_record(record, keys, lambda _: ("mean",))
        return self

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Return the cache key of this average for compiled steps, and the averaged arrays.

        Returns:
            A pair of the key and the list of arrays, including the update counter.

        Examples:
            >>> import seqloom as sl
            >>> len(sl.optim.WeightAverage().leaves()[1])
            1
        """
        self._states.update_paths()
        static, leaves = self._states.leaves()
        return (type(self), self.decay, static), leaves


def _create_mean(param: Param, backend: Backend) -> dict[str, Array]:
    """Create the initial average of a parameter."""
    return {"mean": backend.zeros(param.shape, dtype=widen_half(param.dtype))}


class GradientsAccumulator:
    """Sum of the gradients of several small batches, for one step of a larger batch.

    `accumulate` adds the gradients of a small batch, and `take` returns their mean: the
    gradients of the mean loss of all records. `accumulate` and `take` work in a
    compiled step. Gradients in half precision are summed in float32.

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
        self._states = OptimizerStates(is_full=True)

    @property
    def weight(self) -> int:
        """Sum of the batch weights since the last call of `take`."""
        return self._states.counts.total.number

    def accumulate(self, model: Module, grads: Gradients, *, weight: int = 1) -> None:
        """Add the gradients of a batch.

        Args:
            model: Model to which the gradients belong.
            grads: Gradients that `value_and_grad` returned for this model.
            weight: Weight of this batch in the mean; for a mean loss, the number of
                records in the batch.

        Raises:
            ArgumentError: No gradient belongs to a parameter of `model`, the
                accumulator contains sums for a different model, or `weight` is not a
                positive integer.

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
        pairs = pair_gradients(params, grads)
        self._states.update_paths()
        self._states.set_owner_params([param for param, _ in pairs], params)
        for param, grad in pairs:
            state = self._states.prepare(param, _create_sum, grads.backend)
            added = as_tensor(grad, grads.backend) * share
            new = Tensor(state["sum"], grads.backend) + added
            self._states.set_arrays(param.path, {"sum": new.raw})
        total = self._states.counts.total
        total.put(total.next(grads.backend, by=share))

    def take(self, model: Module) -> Gradients:
        """Return the mean of the gradients, and reset the sums to 0.

        Args:
            model: Model to which the gradients belong.

        Returns:
            Gradients for `Optimizer.step`. If a batch had no gradient for a parameter,
            the batch counts as 0 in the mean. Frozen parameters have no gradient.

        Raises:
            ArgumentError: No gradients were added since the last call, or the
                accumulator contains sums for a different model.

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
        self._states.update_paths()
        known = set(self._states.paths())
        params = [param for param in every if param.path in known]
        # In a captured step, it is unknown whether gradients were added.
        is_captured = bool(params) and hasattr(params[0].bound_backend, "add_leaf")
        if not params or not (is_captured or self.weight):
            raise ArgumentError(
                "no gradients were accumulated; call accumulate(model, grads) before take"
            )
        self._states.set_owner_params(params, every)
        backend = params[0].bound_backend
        total = self._states.counts.total.next(backend, by=0)
        means: dict[int, Array] = {}
        for param in params:
            found = Tensor(
                self._states.prepare(param, _create_sum, backend)["sum"], backend
            )
            mean = (found / as_step_number(total, found)).astype(param.dtype)
            self._states.set_arrays(param.path, {"sum": (found * 0).raw})
            if param.trainable:
                means[param.id] = mean.raw
        self._states.counts.total.put(
            0 if isinstance(total, int) else backend.multiply(total, 0)
        )
        return Gradients(means, backend)

    def to_record(self) -> Record:
        """Return the sums by path, with the sum of the weights as metadata.

        Returns:
            A record of copies; later calls do not change it.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.GradientsAccumulator().to_record().metadata
            {'step_count': 0}
        """
        return self._states.to_record()

    def load_record(self, record: Mapping[str, Any], *, keys: KeyMap | None = None) -> Self:
        """Load the sums from a record.

        Args:
            record: Record that `to_record` returned.
            keys: Dict from parameter paths in the record to paths in the model, as in
                `Module.load_record`, for renamed parameters.

        Returns:
            This accumulator.

        Raises:
            RecordError: `record` does not come from an accumulator.

        Examples:
            >>> import seqloom as sl
            >>> accumulator = sl.optim.GradientsAccumulator()
            >>> accumulator.load_record(accumulator.to_record()).weight
            0
        """
        self._states.load_record(record, keys, lambda _: ("sum",))
        return self

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Return the cache key of this accumulator for compiled steps, and the sums.

        Returns:
            A pair of the key and the list of arrays, including the sum of the weights.

        Examples:
            >>> import seqloom as sl
            >>> len(sl.optim.GradientsAccumulator().leaves()[1])
            1
        """
        self._states.update_paths()
        static, leaves = self._states.leaves()
        return (type(self), static), leaves


def _create_sum(param: Param, backend: Backend) -> dict[str, Array]:
    """Create the initial sum of a parameter's gradients."""
    return {"sum": backend.zeros(param.shape, dtype=widen_half(param.dtype))}
