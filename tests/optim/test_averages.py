"""Weight averages compared with PyTorch."""

import numpy as np
import pytest

import seqloom as sl
from optimiser_steps import BACKEND_NAMES
from seqloom import nn
from seqloom.errors import ArgumentError, RecordError

torch = pytest.importorskip("torch")
PARAMETER_VALUES = np.random.default_rng(0).normal(size=(6, 2, 3)).astype("f4")


def average_of_torch(decay):
    swa = torch.optim.swa_utils
    model = torch.nn.Linear(3, 2, bias=False)
    function = None if decay is None else swa.get_ema_multi_avg_fn(decay)
    average = swa.AveragedModel(model, multi_avg_fn=function)
    for values in PARAMETER_VALUES:
        model.weight.data[:] = torch.tensor(values)
        average.update_parameters(model)
    return average.module.weight.detach().numpy()


@pytest.mark.parametrize("decay", [None, 0.7])
@pytest.mark.parametrize("library", BACKEND_NAMES)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_weight_averages_match_pytorch(library, decay, compiled):
    pytest.importorskip(library)
    model = nn.Linear(3, 2, bias=False).bind(library, sl.Key(0))
    average = sl.optim.WeightAverage(decay)

    def update(model, average):
        average.update(model)

    step = sl.tensor.compile(update, enabled=compiled)
    for values in PARAMETER_VALUES:
        model.weight.assign(values)
        step(model, average)
    found = average.apply_average(model).weight.numpy()
    np.testing.assert_allclose(found, average_of_torch(decay), rtol=1e-5, atol=1e-6)
    assert average.update_count == len(PARAMETER_VALUES)


def test_a_weight_average_resumes_from_its_record():
    model = nn.Linear(3, 2, bias=False).bind("numpy", sl.Key(0))
    average = sl.optim.WeightAverage()
    for number, values in enumerate(PARAMETER_VALUES):
        model.weight.assign(values)
        average.update(model)
        if number == 2:
            average = sl.optim.WeightAverage().load_record(average.to_record())
    found = average.apply_average(model).weight.numpy()
    np.testing.assert_allclose(found, average_of_torch(None), rtol=1e-5, atol=1e-6)


def test_averaging_does_not_change_the_model_or_its_buffers():
    model = nn.BatchNorm1d(2).bind("numpy", sl.Key(0))
    average = sl.optim.WeightAverage(0.5)
    average.update(model)
    model.weight.assign([3.0, 3.0])
    model.running_mean.assign([5.0, 5.0])
    average.update(model)
    twin = average.apply_average(model)
    assert twin.weight.numpy().tolist() == [2.0, 2.0]
    assert twin.running_mean.numpy().tolist() == [5.0, 5.0]
    assert model.weight.numpy().tolist() == [3.0, 3.0]


def test_an_empty_weight_average_raises_with_a_hint():
    model = nn.Linear(3, 2).bind("numpy", sl.Key(0))
    with pytest.raises(RecordError, match=r"empty; call update\(model\) after each step"):
        sl.optim.WeightAverage().apply_average(model)


def test_a_weight_average_rejects_a_second_model():
    average = sl.optim.WeightAverage()
    average.update(nn.Linear(3, 2).bind("numpy", sl.Key(0)))
    with pytest.raises(ArgumentError, match="another model"):
        average.update(nn.Linear(3, 2).bind("numpy", sl.Key(0)))


def test_an_average_decay_of_one_is_rejected():
    with pytest.raises(ArgumentError, match="decay must be a number from 0 up, below 1"):
        sl.optim.WeightAverage(1.0)
