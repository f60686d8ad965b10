"""SimpleOptimizer: optimisers with a rule for one parameter; AdaGrad, RMSProp, Lion."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from seqloom.errors import ArgumentError, DTypeError, ShapeError
from seqloom.optim._optimizer import Optimizer
from seqloom.optim._settings import (
    Move,
    as_learning_rate,
    as_step_number,
    as_tensor,
    list_arrays,
    put_results,
    require_setting,
)
from seqloom.tensor import Tensor, apply, sqrt
from seqloom.tensor._leaves import copy_leaf_to

if TYPE_CHECKING:
    from seqloom.nn._parameters import Param
    from seqloom.tensor._backend import Array, Backend


class SimpleOptimizer(Optimizer):
    """Base class of optimisers with a rule that updates one parameter.

    A subclass sets the attribute ``State`` to a dataclass, and defines the method
    ``rule`` with tensor operations. The fields of the state must be tensors, numbers or
    booleans, because records and compiled steps store arrays. A number or boolean
    becomes a tensor without axes: a float gets the dtype of the parameter, and an
    integer gets int32. The initial value of a field is zeros in the shape of the
    parameter, unless the subclass defines ``start_state``. For a parameter in half
    precision, the rule computes in float32, and the results are stored in half
    precision. Records, groups, compiled steps, and changes of backend or dtype work as
    for every `Optimizer`. For many small parameters, an `Optimizer` is faster, because
    it updates all parameters in one call.

    Attributes:
        State: Dataclass of the state of one parameter; None if the rule has no state.

    Examples:
        >>> from dataclasses import dataclass
        >>> import seqloom as sl
        >>> @dataclass
        ... class Velocity:
        ...     velocity: sl.tensor.Tensor
        >>> class HeavyBall(sl.optim.SimpleOptimizer):
        ...     State = Velocity
        ...
        ...     def __init__(self, momentum=0.9):
        ...         super().__init__()
        ...         self.momentum = momentum
        ...
        ...     def rule(self, param, grad, state, *, lr, step):
        ...         velocity = state.velocity * self.momentum + grad
        ...         return param - velocity * lr, Velocity(velocity)
        >>> layer = sl.nn.Linear(1, 1, bias=False).bind("numpy", sl.Key(0))
        >>> x = layer.backend.tensor([[1.0]])
        >>> _, grads = sl.nn.value_and_grad(lambda layer: layer(x).sum())(layer)
        >>> optimizer = HeavyBall()
        >>> layer = optimizer.step(0.1, layer, grads)
        >>> optimizer.to_record()["weight.velocity"].tolist()
        [[1.0]]
    """

    State: ClassVar[Any] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.State is None:
            return
        if not is_dataclass(cls.State):
            raise ArgumentError(
                f"{cls.__name__}.State must be a dataclass of tensors and numbers, got "
                f"{cls.State!r}"
            )
        cls.states = tuple(field.name for field in fields(cls.State))

    @abstractmethod
    def rule(self, param: Tensor, grad: Tensor, state: Any, *, lr: Any, step: Any) -> Any:
        """Compute the new values of one parameter, and its new state.

        Args:
            param: Current values.
            grad: Gradient with the shape of `param`.
            state: Current state: an instance of ``State``, or None.
            lr: Learning rate: a number, or a tensor without axes in a compiled step.
            step: Number of updates of this parameter, including this one: a number, or a
                float tensor without axes in a compiled step.

        Returns:
            The new values, and the new state; without ``State``, only the new values.

        Examples:
            >>> import seqloom as sl
            >>> class Descent(sl.optim.SimpleOptimizer):
            ...     def rule(self, param, grad, state, *, lr, step):
            ...         return param - grad * lr
            >>> Descent().step_count
            0
        """

    def start_state(self, param: Tensor) -> Any:
        """Create the initial state of a parameter; default: zeros.

        Args:
            param: Values of the parameter.

        Returns:
            An instance of ``State``.

        Examples:
            >>> import seqloom as sl
            >>> param = sl.tensor.backend("numpy").tensor([1.0, 2.0])
            >>> sl.optim.Lion().start_state(param).momentum.numpy().tolist()
            [0.0, 0.0]
        """
        return self.State(**{n: apply("zeros_like", param) for n in self.states})

    def start(self, param: Param, backend: Backend) -> dict[str, Array]:
        """Create the arrays of the state that `start_state` returns."""
        if not self.states:
            return {}
        values = backend.astype(copy_leaf_to(param, backend), param.dtype)
        state = self.start_state(as_tensor(values, backend))
        return list_arrays(self._list_values(state), backend, param.dtype)

    def update(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """Call the rule for each parameter."""
        rate = as_learning_rate(lr, backend)
        for move in moves:
            param, grad = as_tensor(move.param, backend), as_tensor(move.grad, backend)
            state = {name: as_tensor(a, backend) for name, a in move.state.items()}
            step = as_step_number(move.step, param)
            new, state = self._call_rule(param, grad, state, lr=rate, step=step)
            _check_result(f"{type(self).__name__}.rule", move.path, new=new, param=param)
            put_results(move, new, self._list_values(state))

    def _list_values(self, state: Any) -> dict[str, Any]:
        """Return the fields of a state by name."""
        return {name: getattr(state, name) for name in self.states}

    def _call_rule(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], **options: Any
    ) -> tuple[Any, Any]:
        """Call the rule; raise if it should return a state but does not."""
        if self.State is None:
            return self.rule(param, grad, None, **options), None
        found: Any = self.rule(param, grad, self.State(**state), **options)
        kind = cast("type[Any]", type(found))
        is_pair = issubclass(kind, tuple) and len(found) == 2  # noqa: PLR2004
        if not is_pair or not isinstance(found[1], self.State):
            raise ArgumentError(
                f"{type(self).__name__}.rule must return the new values and a "
                f"{self.State.__name__}, got {kind.__name__}"
            )
        return found


def _check_result(name: str, path: str, *, new: object, param: Tensor) -> None:
    """Raise unless the new values are a tensor with the parameter's shape and dtype."""
    if not isinstance(new, Tensor):
        raise ArgumentError(
            f"{name} must return a tensor for {path}, got {type(new).__name__}"
        )
    if new.shape != param.shape:
        raise ShapeError(
            f"{name} returned shape {new.shape} for {path}, expected {param.shape}"
        )
    if new.dtype != param.dtype:
        raise DTypeError(
            f"{name} returned dtype {new.dtype} for {path}, expected {param.dtype}"
        )


@dataclass
class SquareSum:
    """State of `AdaGrad`."""

    total: Tensor  # sum of the squared gradients


class AdaGrad(SimpleOptimizer):
    """AdaGrad: gradients divided by the root of the sum of squares (Duchi et al. 2011).

    Args:
        initial: Initial value of the sum of squares, 0 or more.
        eps: Number above 0, added to the square root.
        weight_decay: L2 penalty: ``weight_decay * weight`` is added to the gradient of
            each weight.

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.AdaGrad(weight_decay=0.1).weight_decay
        0.1
    """

    State = SquareSum

    def __init__(
        self, *, initial: float = 0.0, eps: float = 1e-10, weight_decay: float = 0.0
    ) -> None:
        super().__init__()
        self.initial = require_setting("initial", initial)
        self.eps = require_setting("eps", eps, above=0)
        self.weight_decay = require_setting("weight_decay", weight_decay)

    def start_state(self, param: Tensor) -> SquareSum:
        """Return the initial state: sums of squares, all equal to `initial`."""
        return SquareSum(apply("zeros_like", param) + self.initial)

    def rule(
        self, param: Tensor, grad: Tensor, state: SquareSum, *, lr: Any, step: Any
    ) -> tuple[Tensor, SquareSum]:
        """Update one parameter."""
        del step
        grad = _add_decay(grad, param, self.weight_decay)
        total = state.total + grad * grad
        return param - grad / (sqrt(total) + self.eps) * lr, SquareSum(total)


@dataclass
class RMSPropState:
    """State of `RMSProp`; averages that the settings do not need are single numbers."""

    square: Tensor  # running average of the squared gradient
    mean: Tensor  # running average of the gradient, for `centered`
    velocity: Tensor  # running sum of the steps, for `momentum`


class RMSProp(SimpleOptimizer):
    """RMSProp: gradients divided by their running root mean square (Tieleman, Hinton 2012).

    Args:
        alpha: Decay rate of the averages, in [0, 1).
        eps: Number above 0, added to the square root.
        momentum: Fraction of the previous step that is added to the new step, in [0,
            1).
        centered: If True, divide by the running standard deviation (Graves 2013).
        weight_decay: L2 penalty: ``weight_decay * weight`` is added to the gradient of
            each weight.

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.RMSProp(momentum=0.9).momentum
        0.9
    """

    State = RMSPropState

    def __init__(
        self,
        *,
        alpha: float = 0.99,
        eps: float = 1e-8,
        momentum: float = 0.0,
        centered: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__()
        self.alpha = require_setting("alpha", alpha, below=1)
        self.eps = require_setting("eps", eps, above=0)
        self.momentum = require_setting("momentum", momentum, below=1)
        self.centered = centered
        self.weight_decay = require_setting("weight_decay", weight_decay)

    def start_state(self, param: Tensor) -> RMSPropState:
        """Return zeros; a single zero for an average that the settings do not need."""
        zeros = apply("zeros_like", param)
        unused = apply("zeros_like", param.sum())
        mean = zeros if self.centered else unused
        return RMSPropState(zeros, mean, zeros if self.momentum else unused)

    def rule(
        self, param: Tensor, grad: Tensor, state: RMSPropState, *, lr: Any, step: Any
    ) -> tuple[Tensor, RMSPropState]:
        """Update one parameter."""
        del step
        grad = _add_decay(grad, param, self.weight_decay)
        square = _update_average(state.square, grad * grad, self.alpha)
        mean, variance = state.mean, square
        if self.centered:
            mean = _update_average(state.mean, grad, self.alpha)
            variance = square - mean * mean
        change, velocity = grad / (sqrt(variance) + self.eps), state.velocity
        if self.momentum:
            change = velocity = state.velocity * self.momentum + change
        return param - change * lr, RMSPropState(square, mean, velocity)


@dataclass
class LionState:
    """State of `Lion`."""

    momentum: Tensor  # running average of the gradient


class Lion(SimpleOptimizer):
    """Lion: steps in the direction of the sign of an average (Chen et al. 2023).

    In a step, all elements of a parameter change by the same amount. The learning rate
    is usually three to ten times smaller than for `AdamW`.

    Args:
        betas: Weights of the old average in the step direction and in the new average, in
            [0, 1).
        weight_decay: Weight decay, which is multiplied by the learning rate.

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.Lion(weight_decay=0.1).betas
        (0.9, 0.99)
    """

    State = LionState

    def __init__(
        self, *, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0.0
    ) -> None:
        super().__init__()
        self.betas = require_setting("betas", betas, below=1, count=2)
        self.weight_decay = require_setting("weight_decay", weight_decay)

    def rule(
        self, param: Tensor, grad: Tensor, state: LionState, *, lr: Any, step: Any
    ) -> tuple[Tensor, LionState]:
        """Update one parameter."""
        del step
        direction = apply("sign", _update_average(state.momentum, grad, self.betas[0]))
        kept = param * (1 - lr * self.weight_decay)
        new = LionState(_update_average(state.momentum, grad, self.betas[1]))
        return kept - direction * lr, new


def _add_decay(grad: Tensor, param: Tensor, weight_decay: float) -> Tensor:
    """Add the weight decay to a gradient."""
    return grad + param * weight_decay if weight_decay else grad


def _update_average(old: Tensor, new: Tensor, share: float) -> Tensor:
    """Update a running average."""
    return old * share + new * (1 - share)
