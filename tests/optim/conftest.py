"""The step of optimiser_steps, eager and compiled, and each backend."""

import pytest

import seqloom as sl
from optimiser_steps import BACKENDS, plain_step


@pytest.fixture(params=[False, True], ids=["eager", "compiled"])
def step(request):
    """A step as it is, and compiled."""
    return sl.tensor.compile(plain_step, enabled=request.param)


@pytest.fixture(params=BACKENDS)
def backend(request):
    """Each backend."""
    pytest.importorskip(request.param)
    return sl.tensor.backend(request.param)
