"""The five published networks of SpliceAI have the same outputs as their Keras files."""

import json
from functools import cache

import numpy as np
import pytest
import torch
from torch.nn import functional

import seqloom as sl
from splice_example import arrays, letters, network, published

BACKEND_NAMES = ["numpy", "torch", "jax"]
# `make test` runs only the first network; `make soak` runs all networks.
FAST_BACKENDS = [("numpy", False), ("numpy", True), ("torch", False), ("jax", True)]
PUBLISHED_NETWORK_RUNS = [
    pytest.param(
        number,
        backend,
        compiled,
        marks=[]
        if number == 1 and (backend, compiled) in FAST_BACKENDS
        else pytest.mark.soak,
        id=f"{number}-{backend}-{'compiled' if compiled else 'eager'}",
    )
    for number in range(1, 6)
    for backend in BACKEND_NAMES
    for compiled in (False, True)
]


def layers(number):
    """Return the layers of a file in order: class, settings, names of inputs."""
    import h5py

    with h5py.File(published(number), "r") as file:
        described = json.loads(str(file.attrs["model_config"]))
    for layer in described["config"]["layers"]:
        inputs = (
            [node[0] for node in layer["inbound_nodes"][0]]
            if layer["inbound_nodes"]
            else []
        )
        yield layer["class_name"], layer["config"], inputs


def compute(kind, config, weights, inputs):
    """Compute one Keras layer with PyTorch functions; channels are axis 1."""
    x = inputs[0]
    if kind == "Conv1D":
        weight = weights["kernel"].permute(2, 1, 0)
        (dilation,) = config["dilation_rate"]
        y = functional.conv1d(
            x, weight, weights["bias"], padding=config["padding"], dilation=dilation
        )
        return y.softmax(1) if config["activation"] == "softmax" else y
    if kind == "BatchNormalization":
        parts = ("moving_mean", "moving_variance", "gamma", "beta")
        return functional.batch_norm(x, *(weights[p] for p in parts), eps=config["epsilon"])
    if kind == "Cropping1D":
        before, after = config["cropping"]
        return x[:, :, before : x.shape[2] - after]
    return {"Activation": torch.relu, "Add": lambda _: sum(inputs)}[kind](x)


@cache
def recompute(number):
    """Compute the network of a file by following its description layer by layer."""
    (_, first, _), *others = layers(number)
    found = {first["name"]: torch.tensor(letters(10_200))}
    for kind, config, inputs in others:
        prefix = f"{config['name']}.{config['name']}."
        weights = {
            name.removeprefix(prefix): torch.tensor(np.asarray(values))
            for name, values in arrays(number).items()
            if name.startswith(prefix)
        }
        found[config["name"]] = compute(kind, config, weights, [found[i] for i in inputs])
    return found[others[-1][1]["name"]].numpy()


@pytest.mark.parametrize(("number", "backend", "compiled"), PUBLISHED_NETWORK_RUNS)
def test_a_published_network_agrees_with_its_keras_description(number, backend, compiled):
    model = network(number, backend)
    call = (
        sl.tensor.compile(lambda model, x: model(x))
        if compiled
        else lambda model, x: model(x)
    )
    found = call(model, model.backend.tensor(letters(10_200))).numpy()
    expected = recompute(number)
    assert found.shape == (1, 3, 200)
    assert expected[:, 1:].max() > 0.5  # the window includes a splice site
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_the_key_map_contains_every_array_of_the_published_weights():
    report = network(1, "numpy").load_report
    assert len(report.applied) == len(arrays(1))
    assert report.unused == ()
    # Keras does not count the batches in its averages.
    assert {path.rpartition(".")[2] for path in report.missing} == {"num_batches_tracked"}
