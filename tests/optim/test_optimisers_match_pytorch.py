"""Twenty steps of every optimiser, eager and compiled, compared with PyTorch."""

import numpy as np
import pytest

from optimiser_steps import INPUT_ARRAY, new_model, plain_step, run as run_steps, values_of
from seqloom import nn, optim

torch = pytest.importorskip("torch")

# Pairs of a seqloom optimiser and a function that returns PyTorch's optimiser for
# parameters and a learning rate.
OPTIMISERS_AND_PYTORCH_OPTIMISERS = {
    "adam": (optim.Adam, torch.optim.Adam),
    "adam with decay": (
        lambda: optim.Adam(betas=(0.8, 0.99), weight_decay=0.1),
        lambda p, lr: torch.optim.Adam(p, lr, betas=(0.8, 0.99), weight_decay=0.1),
    ),
    "adagrad": (
        lambda: optim.AdaGrad(initial=0.1, weight_decay=0.1),
        lambda p, lr: torch.optim.Adagrad(
            p, lr, initial_accumulator_value=0.1, weight_decay=0.1
        ),
    ),
    "rmsprop": (optim.RMSProp, torch.optim.RMSprop),
    "rmsprop, centered with momentum": (
        lambda: optim.RMSProp(alpha=0.9, momentum=0.8, centered=True, weight_decay=0.1),
        lambda p, lr: torch.optim.RMSprop(
            p, lr, alpha=0.9, momentum=0.8, centered=True, weight_decay=0.1
        ),
    ),
    "groups": (
        lambda: (
            optim.AdamW(weight_decay=0.3)
            .group("layers.0.*", lr_factor=0.5)
            .group("*.bias", weight_decay=0.0)
        ),
        lambda p, lr: torch.optim.AdamW(
            [
                {"params": [p[0]], "lr": lr / 2, "weight_decay": 0.3},
                {"params": [p[1], p[3]], "weight_decay": 0.0},
                {"params": [p[2]], "weight_decay": 0.3},
            ],
            lr,
        ),
    ),
    "groups of sgd, one with momentum": (
        lambda: optim.SGD().group("*.weight", momentum=0.9, nesterov=True),
        lambda p, lr: torch.optim.SGD(
            [
                {"params": [p[0], p[2]], "momentum": 0.9, "nesterov": True},
                {"params": [p[1], p[3]]},
            ],
            lr,
        ),
    ),
}


def rates(steps):
    return [0.02 / (1 + number) for number in range(steps)]


def run(step, model, optimizer, steps=20):
    return values_of(run_steps(step, model, optimizer, steps, rates(steps)))


def run_torch(make, steps=20):
    """Return the parameters after a number of steps in PyTorch."""
    values = values_of(new_model())
    params = [torch.nn.Parameter(torch.tensor(value)) for value in values]
    optimizer = make(params, 1.0)
    factors = [group["lr"] for group in optimizer.param_groups]
    for lr in rates(steps):
        for group, factor in zip(optimizer.param_groups, factors, strict=True):
            group["lr"] = lr * factor
        optimizer.zero_grad()
        hidden = torch.nn.functional.linear(torch.tensor(INPUT_ARRAY), params[0], params[1])
        out = torch.nn.functional.linear(hidden, params[2], params[3])
        (out**2).mean().backward()
        optimizer.step()
    return [param.detach().numpy() for param in params]


def assert_close(found, expected, rtol=1e-4, atol=2e-6):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", OPTIMISERS_AND_PYTORCH_OPTIMISERS)
def test_optimiser_steps_match_pytorch(step, backend, name):
    ours, theirs = OPTIMISERS_AND_PYTORCH_OPTIMISERS[name]
    assert_close(run(step, new_model(backend), ours()), run_torch(theirs))


def test_lion_matches_its_paper(step, backend):
    optimizer = optim.Lion(betas=(0.9, 0.99), weight_decay=0.1)
    found = run(step, new_model(backend), optimizer, 5)

    class Paper(torch.optim.Optimizer):
        """Lion as in Algorithm 2 of Chen et al. (2023)."""

        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    m = self.state[p].setdefault("m", torch.zeros_like(p))
                    c = 0.9 * m + 0.1 * p.grad
                    p.sub_(group["lr"] * (torch.sign(c) + 0.1 * p))
                    m.mul_(0.99).add_(0.01 * p.grad)

    assert_close(found, run_torch(Paper, 5))


def newton_schulz(matrix, steps=5):
    """Compute the Newton-Schulz iteration of Muon (Jordan, 2024) in double precision."""
    x = np.asarray(matrix, "float64")
    if len(x) > len(x.T):
        return newton_schulz(x.T, steps).T
    x = x / max(np.linalg.norm(x), 1e-7)
    for _ in range(steps):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return x


@pytest.mark.parametrize("scale", ["original", "match_rms_adamw"])
def test_muon_updates_matrices_orthogonally_and_the_rest_with_adamw(step, backend, scale):
    optimizer = optim.Muon(scale=scale)
    model = new_model(backend)
    before = values_of(model)
    _, grads = nn.value_and_grad(
        lambda model: (model(model.backend.tensor(INPUT_ARRAY)) ** 2).mean()
    )(model)
    gradients = [grads.wrt(param).numpy() for _, param in model.parameters()]
    found = run(step, model, optimizer, 1)
    for index in (0, 2):
        rows, columns = before[index].shape
        factor = {
            "original": max(1, rows / columns) ** 0.5,
            "match_rms_adamw": 0.2 * max(rows, columns) ** 0.5,
        }[scale]
        direction = newton_schulz(gradients[index]) * factor
        expected = before[index] * (1 - 0.02 * 0.1) - 0.02 * direction
        np.testing.assert_allclose(found[index], expected, rtol=1e-4, atol=1e-6)
    adamw = run_torch(lambda p, lr: torch.optim.AdamW(p, lr, weight_decay=0.1), 1)
    assert_close([found[1], found[3]], [adamw[1], adamw[3]])


def test_muon_is_close_to_the_bfloat16_version_in_pytorch():
    values = values_of(new_model())

    def theirs(params, lr):
        return torch.optim.Muon([params[0], params[2]], lr, weight_decay=0.1)

    found = run(plain_step, new_model().freeze("*.bias"), optim.Muon(), 3)
    expected = run_torch(theirs, 3)
    for index in (0, 2):
        size = np.abs(expected[index] - values[index]).max()
        # The tolerance is large, because PyTorch rounds the iterations to bfloat16.
        assert np.abs(found[index] - expected[index]).max() < 0.1 * size


def test_schedule_free_adamw_matches_its_reference(step, backend):
    decay, eps, weight_decay = 0.999, 1e-8, 0.1
    optimizer = optim.ScheduleFreeAdamW(betas=(0.9, decay), weight_decay=weight_decay)
    model = new_model(backend)
    found = run(step, model, optimizer, 10)

    class Reference(torch.optim.Optimizer):
        """Schedule-free AdamW (Defazio et al. 2024), weighted by squared learning rates."""

        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})
            self.count = self.total = self.highest = 0

        @torch.no_grad()
        def step(self):
            (group,) = self.param_groups
            lr = group["lr"]
            self.count += 1
            self.highest = max(self.highest, lr)
            self.total += self.highest**2
            part = self.highest**2 / self.total
            for y in group["params"]:
                state = self.state[y]
                z = state.setdefault("z", y.detach().clone())
                v = state.setdefault("v", torch.zeros_like(y))
                v.mul_(decay).addcmul_(y.grad, y.grad, value=1 - decay)
                change = y.grad / ((v / (1 - decay**self.count)).sqrt() + eps)
                change += weight_decay * y
                y.lerp_(z, part)
                y.add_(change, alpha=lr * (0.9 * (1 - part) - 1))
                z.sub_(change, alpha=lr)
                state["x"] = y.lerp(z, 1 - 1 / 0.9)
            self.averages = [self.state[y]["x"].numpy() for y in group["params"]]

    made = []

    def make(params, lr):
        made.append(Reference(params, lr))
        return made[0]

    assert_close(found, run_torch(make, 10))
    averaged = values_of(optimizer.apply_average(model))
    assert_close(averaged, made[0].averages, atol=1e-5)
