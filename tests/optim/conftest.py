"""Fixtures: the step of optimiser_steps, eager and compiled, and each backend."""

import pytest

import seqloom as sl
from optimiser_steps import BACKENDS, plain_step


@pytest.fixture(params=[False, True], ids=["eager", "compiled"])
def step(request):
    """Return the eager step and the compiled step."""
    return sl.tensor.compile(plain_step, enabled=request.param)


@pytest.fixture(params=BACKENDS)
def backend(request):
    """Return each backend."""
    pytest.importorskip(request.param)
    return sl.tensor.backend(request.param)
