"""A small network and its step, for the tests of optimisers."""

from itertools import repeat

import numpy as np

import seqloom as sl

BACKENDS = ["numpy", "torch", "jax"]
X = np.random.default_rng(0).normal(size=(8, 3)).astype("f4")


def plain_step(model, optimizer, x, lr=0.05):
    loss, grads = sl.nn.value_and_grad(lambda model: (model(x) ** 2).mean())(model)
    optimizer.step(lr, model, grads)
    return loss


def new_model(backend="numpy", seed=0, dtype="float32"):
    parts = [sl.nn.Linear(3, 4), sl.nn.Linear(4, 2)]
    return sl.nn.Sequential(*parts).bind(backend, sl.Key(seed)).to(backend, dtype)


def run(step, model, optimizer, steps=3, rates=None):
    """The model after some steps, each with its learning rate."""
    x = model.backend.tensor(X).astype(model.parameters()[0][1].dtype)
    for rate, _ in zip(
        repeat(0.05) if rates is None else rates, range(steps), strict=False
    ):
        step(model, optimizer, x, rate)
    return model


def values_of(model):
    return [param.numpy() for _, param in model.parameters()]
