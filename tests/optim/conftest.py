"""Fixtures that run a test with the eager and the compiled step, and on each backend."""

import pytest

import seqloom as sl
from optimiser_steps import BACKEND_NAMES, plain_step


@pytest.fixture(params=[False, True], ids=["eager", "compiled"])
def step(request):
    return sl.tensor.compile(plain_step, enabled=request.param)


@pytest.fixture(params=BACKEND_NAMES)
def backend(request):
    pytest.importorskip(request.param)
    return sl.tensor.backend(request.param)
