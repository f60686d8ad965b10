"""Every optimiser, a small network and its step, for the tests of optimisers."""

from itertools import repeat

import numpy as np

import seqloom as sl

BACKEND_NAMES = ["numpy", "torch", "jax"]
# Every optimiser, with settings that use all of its states.
OPTIMISER_FUNCTIONS = {
    "adam": lambda: sl.optim.Adam(weight_decay=0.1),
    "adamw": sl.optim.AdamW,
    "one scale": lambda: sl.optim.AdamW(one_scale=True),
    "groups": lambda: (
        sl.optim.AdamW()
        .group("*.bias", weight_decay=0.0, one_scale=True)
        .group("layers.0.*", lr_factor=0.5)
    ),
    "sgd": lambda: sl.optim.SGD(momentum=0.9, nesterov=True),
    "sgd without state": sl.optim.SGD,
    "adagrad": sl.optim.AdaGrad,
    "rmsprop": lambda: sl.optim.RMSProp(momentum=0.5, centered=True),
    "lion": sl.optim.Lion,
    "muon": sl.optim.Muon,
    "schedule-free": sl.optim.ScheduleFreeAdamW,
}
INPUT_ARRAY = np.random.default_rng(0).normal(size=(8, 3)).astype("f4")


def plain_step(model, optimizer, x, lr=0.05):
    loss, grads = sl.nn.value_and_grad(lambda model: (model(x) ** 2).mean())(model)
    optimizer.step(lr, model, grads)
    return loss


def new_model(backend="numpy", seed=0, dtype="float32"):
    parts = [sl.nn.Linear(3, 4), sl.nn.Linear(4, 2)]
    return sl.nn.Sequential(*parts).bind(backend, sl.Key(seed)).to(backend, dtype)


def run(step, model, optimizer, steps=3, rates=None):
    """Return the model after several steps, each with its learning rate."""
    x = model.backend.tensor(INPUT_ARRAY).astype(model.parameters()[0][1].dtype)
    for rate, _ in zip(
        repeat(0.05) if rates is None else rates, range(steps), strict=False
    ):
        step(model, optimizer, x, rate)
    return model


def values_of(model):
    return [param.numpy() for _, param in model.parameters()]
