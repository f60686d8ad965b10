"""WeightAverage: an average of the parameters over the steps of a training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from seqloom.errors import RecordError
from seqloom.optim._operands import as_operand, as_tensor
from seqloom.optim._settings import require_setting
from seqloom.optim._state import States, to_full
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqloom.nn import Module
    from seqloom.nn._stored import Param
    from seqloom.record import Record
    from seqloom.record._keys import KeyMap
    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._leaves import Leaf


class WeightAverage:
    """An average of a model's parameters, which often predicts better than the last ones.

    With `decay` it is a running average (EMA, Polyak and Juditsky 1992); without it every
    update counts equally (SWA, Izmailov et al. 2018). Buffers are not averaged. A compiled
    step may call `update`. The average of parameters of half precision is in float32.

    Args:
        decay: Share of the average to keep at an update, in [0, 1); default: equal shares.

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
        self._states = States(is_full=True)  # a share of 0.001 is lost in bfloat16

    @property
    def update_count(self) -> int:
        """Number of updates so far."""
        return self._states.counts.total.number

    def update(self, model: Module) -> None:
        """Adds the present parameters to the average.

        Args:
            model: The model in training.

        Raises:
            ArgumentError: The average is that of another model.
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
        self._states.follow()
        self._states.claim(params, params)
        backend = params[0].value.backend
        count, decay = self._states.counts.total.next(backend), self.decay
        for param in params:
            state = self._states.of(param, _start, backend)
            old = Tensor(state["mean"], backend)
            values = as_tensor(param.storage(), backend)
            number = as_operand(count, old)
            # The first update has all of the average.
            share = 1 / number if decay is None else 1 - decay * (number > 1)
            new = old + (values - old) * share
            self._states.put(param.path, {"mean": new.raw})
        self._states.counts.total.put(count)

    def apply_average(self, model: Module) -> Any:
        """Returns a copy of a model with the averaged parameters.

        Buffers are those of `model`. Running statistics of batch norm belong to the present
        parameters: run the copy over some batches in training mode to measure them again.

        Args:
            model: The model that was averaged.

        Returns:
            A new model; `model` does not change.

        Raises:
            RecordError: Nothing was averaged yet, or a parameter of `model` was not.

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

        self._states.follow()
        paths = {path: param.path for path, param in model.parameters()}

        def replace(path: str, values: Tensor) -> Tensor:
            if path not in paths:  # a buffer
                return values
            mean = self._states.find(paths[path], "mean", values)
            if mean is None:
                raise RecordError(
                    f"this average has no values of {path}; pass the model that was "
                    "averaged, or load_record(average.to_record(), "
                    'keys={"old": "new"}) if its paths have changed'
                )
            return mean

        return model.map(replace)

    def to_record(self) -> Record:
        """Returns the averages by path, and the number of updates.

        Returns:
            A record of copies; later updates do not change it.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.WeightAverage().to_record().metadata
            {'step_count': 0}
        """
        return self._states.to_record()

    def load_record(self, record: Mapping[str, Any], *, keys: KeyMap | None = None) -> Self:
        """Sets averages and number of updates from a record.

        Args:
            record: Record that `to_record` returned.
            keys: Paths in the model by paths in the record, as of `Module.load_record`, if
                parameters have other paths now; the paths are those of parameters.

        Returns:
            This average.

        Raises:
            RecordError: `record` is not that of an average.

        Examples:
            >>> import seqloom as sl
            >>> average = sl.optim.WeightAverage()
            >>> average.load_record(average.to_record()).update_count
            0
        """
        self._states.load_record(record, keys, lambda _: ("mean",))
        return self

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Returns what selects the program of a compiled step, and the arrays it writes.

        Returns:
            The class, the decay and the paths; the averages and the counter.

        Examples:
            >>> import seqloom as sl
            >>> len(sl.optim.WeightAverage().leaves()[1])
            1
        """
        self._states.follow()
        static, leaves = self._states.leaves()
        return (type(self), self.decay, static), leaves


def _start(param: Param, backend: Backend) -> dict[str, Array]:
    """Makes the average of a parameter before its first update."""
    return {"mean": backend.zeros(param.shape, dtype=to_full(param.dtype))}
