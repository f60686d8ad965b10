"""Linear models for the baselines of `fit`: ridge, logistic and lasso regression."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
# The search for a penalty ends after this number of penalties without a lower loss.
_MAX_WORSE = 3
_MAX_STEPS = 100
# L-BFGS stops if a step lowers the objective by less than this fraction.
_TOLERANCE = 1e-5
_HISTORY_SIZE = 10
# Fraction of the predicted decrease that the line search requires (Armijo condition).
_ARMIJO_FRACTION = 1e-4
_MAX_HALVINGS = 20
_PENALTIES = tuple(10.0 ** (-power / 2) for power in range(11))  # 1 to 1e-5
_LASSO_PENALTIES = 30
_LASSO_RANGE = 100.0
_MAX_SWEEPS = 1000
_SWEEP_TOLERANCE = 1e-4
_MAX_ROUNDS = 10
# A feature enters the lasso if its covariance exceeds the penalty by more than
# rounding.
_ENTRY_FACTOR = 1 + 1e-6


@dataclass(frozen=True, slots=True)
class Link:
    """Link between the outputs of a linear model and the means of the targets.

    The loss of a record is ``potential(z) - z @ target``, the negative log-likelihood of an
    exponential family in its natural parameter. The loss has the gradient ``mean(z) -
    target``.
    """

    potential: Callable[[Floats], Floats]
    mean: Callable[[Floats], Floats]

    def loss(self, z: Floats, targets: Floats, weights: Floats) -> float:
        """Return the weighted mean loss of the records."""
        losses = self.potential(z) - (z * targets).sum(axis=1)
        return float(losses @ weights / weights.sum())


def _softmax(z: Floats) -> Floats:
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


IDENTITY_LINK = Link(lambda z: np.square(z).sum(axis=1) / 2, lambda z: z)
LOGISTIC_LINK = Link(
    lambda z: np.logaddexp(0, z).sum(axis=1), lambda z: 0.5 * (1 + np.tanh(z / 2))
)
SOFTMAX_LINK = Link(lambda z: np.logaddexp.reduce(z, axis=1), _softmax)


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Weights ``(features, outputs)`` and intercepts, and the penalty of the fit."""

    weights: Floats
    bias: Floats
    penalty: float

    def __call__(self, x: Floats) -> Floats:
        """Return the outputs ``(records, outputs)``."""
        return np.asarray(x @ self.weights.astype(x.dtype) + self.bias, np.float64)


@dataclass(frozen=True, slots=True)
class Sample:
    """Features ``(records, features)``, targets ``(records, outputs)`` and weights."""

    x: Floats
    targets: Floats
    weights: Floats


def fit_ridge(train: Sample, valid: Sample, link: Link) -> LinearModel:
    """Fit with a squared (ridge) penalty, which is chosen by the loss on `valid`."""
    # The objective is the mean loss plus half the penalty times the sum of the squared
    # weights; intercepts have no penalty.
    return _choose_penalty(_ridge_path(train, link), valid, link)


def fit_lasso(train: Sample, valid: Sample) -> LinearModel:
    """Fit the first target with an absolute (lasso) penalty, chosen on `valid`."""
    # The objective is half the mean squared error plus the penalty times the sum of the
    # absolute weights. The method is cyclic coordinate descent on the features that pass
    # the strong rule (Tibshirani et al., JRSS B 74, 2012), then a check of all features.
    return _choose_penalty(_lasso_path(train), valid, IDENTITY_LINK)


def _choose_penalty(path: Iterator[LinearModel], valid: Sample, link: Link) -> LinearModel:
    """Return the model with the lowest validation loss; end after several worse models."""
    best, worse = next(path), 0
    lowest = link.loss(best(valid.x), valid.targets, valid.weights)
    for model in path:
        loss = link.loss(model(valid.x), valid.targets, valid.weights)
        if loss < lowest:
            best, lowest, worse = model, loss, 0
        else:
            worse += 1
        if worse == _MAX_WORSE:
            break
    return best


def _ridge_path(train: Sample, link: Link) -> Iterator[LinearModel]:
    """Yield a model for each penalty, from the largest penalty to the smallest."""
    x, features, outputs = train.x, train.x.shape[1], train.targets.shape[1]
    rates = (train.weights / train.weights.sum())[:, None]
    point = np.zeros((features + 1, outputs))  # the last row contains the intercepts
    for penalty in _PENALTIES:

        def objective(point: Floats, penalty: float = penalty) -> tuple[float, Floats]:
            weights, bias = point[:-1], point[-1]
            z = np.asarray(x @ weights.astype(x.dtype), np.float64) + bias
            errors = (link.mean(z) - train.targets) * rates
            slope = np.empty_like(point)
            slope[:-1] = x.T @ errors.astype(x.dtype) + penalty * weights
            slope[-1] = errors.sum(axis=0)
            loss = link.loss(z, train.targets, train.weights)
            return loss + penalty / 2 * float(np.vdot(weights, weights)), slope

        point = minimise(objective, point)
        yield LinearModel(point[:-1], point[-1], penalty)


def minimise(objective: Callable[[Floats], tuple[float, Floats]], point: Floats) -> Floats:
    """Minimise a smooth function by L-BFGS (Nocedal and Wright, 2006, algorithm 7.4)."""
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=_HISTORY_SIZE)
    value, slope = objective(point)
    for _ in range(_MAX_STEPS):
        direction = -_precondition(slope, pairs)
        # The first step has unit length at most; later steps are scaled by curvature.
        step = direction if pairs else direction / max(1.0, float(np.linalg.norm(slope)))
        descent = _ARMIJO_FRACTION * float(np.vdot(slope, step))
        for halving in range(_MAX_HALVINGS):
            scale = 0.5**halving
            new_value, new_slope = objective(point + scale * step)
            if new_value <= value + scale * descent:
                break
        else:
            return point  # rounding prevents further progress
        step, change = scale * step, new_slope - slope
        if (product := float(np.vdot(step, change))) > 0:
            pairs.append((step, change, product))
        point, gain = point + step, value - new_value
        value, slope = new_value, new_slope
        if gain <= _TOLERANCE * max(abs(value), _TOLERANCE):
            break
    return point


def _precondition(slope: Floats, pairs: deque[tuple[Floats, Floats, float]]) -> Floats:
    """Multiply the gradient by the approximate inverse Hessian (two-loop recursion)."""
    direction, factors = slope.copy(), list[float]()
    for step, change, product in reversed(pairs):
        factors.append(float(np.vdot(step, direction)) / product)
        direction -= factors[-1] * change
    if pairs:
        _, change, product = pairs[-1]
        direction *= product / float(np.vdot(change, change))
    for (step, change, product), factor in zip(pairs, reversed(factors), strict=True):
        direction += (factor - float(np.vdot(change, direction)) / product) * step
    return direction


def _lasso_path(train: Sample) -> Iterator[LinearModel]:
    """Yield a model for each penalty, from the largest penalty to the smallest."""
    path = _LassoPath.start(train)
    # At the largest penalty, all weights are 0.
    highest = before = float(np.abs(path.slope).max(initial=0.0))
    yield LinearModel(path.weights[:, None].copy(), np.array([path.mean]), highest)
    for penalty in highest * np.geomspace(1, 1 / _LASSO_RANGE, _LASSO_PENALTIES)[1:]:
        if not path.solve(float(penalty), before):
            return  # with more features than records, the solution is not unique
        before = penalty
        offset = path.mean - float(path.centre @ path.weights)
        yield LinearModel(path.weights[:, None].copy(), np.array([offset]), float(penalty))


@dataclass(slots=True)
class _LassoPath:
    """Data of a lasso, and its solution for the last penalty."""

    x: Floats
    y: Floats
    centre: Floats  # mean of each feature
    mean: float  # mean of the target
    varies: NDArray[np.bool_]  # features that are not constant
    weights: Floats
    slope: Floats  # covariance of each feature with the residual

    @classmethod
    def start(cls, train: Sample) -> "_LassoPath":
        x, y = train.x, train.targets[:, 0]
        centre, mean = x.mean(axis=0, dtype=np.float64), float(y.mean())
        weights = np.zeros_like(centre)
        path = cls(x, y, centre, mean, np.ptp(x, axis=0) > 0, weights, centre)
        path.slope = path._correlate(y - mean)
        return path

    def solve(self, penalty: float, before: float) -> bool:
        """Fit the weights for a smaller penalty; return False if too many are nonzero."""
        chosen = (np.abs(self.slope) >= 2 * penalty - before) | (self.weights != 0)
        for _ in range(_MAX_ROUNDS):
            columns = np.flatnonzero(chosen & self.varies)
            if len(columns) > len(self.x):
                return False
            active = self.x[:, columns].astype(np.float64) - self.centre[columns]
            gram = active.T @ active / len(self.x)
            moments = active.T @ (self.y - self.mean) / len(self.x)
            start = self.weights[columns]
            self.weights[columns] = _descend(gram, moments, start, penalty=penalty)
            self.slope = self._correlate(
                self.y - self.mean - active @ self.weights[columns]
            )
            missed = (np.abs(self.slope) > penalty * _ENTRY_FACTOR) & ~chosen & self.varies
            if not missed.any():
                break
            chosen |= missed
        return True

    def _correlate(self, residual: Floats) -> Floats:
        """Return the covariance of each feature with the residual."""
        total = np.asarray(self.x.T @ residual.astype(self.x.dtype), np.float64)
        return (total - self.centre * residual.sum()) / len(self.x)


def _descend(gram: Floats, moments: Floats, weights: Floats, *, penalty: float) -> Floats:
    """Minimise over each weight in turn until no weight changes noticeably."""
    weights, slope = weights.copy(), moments - gram @ weights
    for _ in range(_MAX_SWEEPS):
        largest = 0.0
        for it in range(len(weights)):
            old, own = weights[it], gram[it, it]
            target = slope[it] + own * old
            new = np.sign(target) * max(abs(target) - penalty, 0.0) / own
            if new != old:
                slope -= gram[it] * (new - old)
                weights[it] = new
                largest = max(largest, abs(new - old) * own)
        if largest <= penalty * _SWEEP_TOLERANCE:
            break
    return weights
