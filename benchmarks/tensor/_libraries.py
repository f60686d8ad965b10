"""Implementations of the networks by name; each imports only its library."""

import os
from collections.abc import Callable
from typing import Any

from benchmarks.tensor._networks import MeasurementSetup
from benchmarks.tensor._products import NumPyProducts, products_of

Build = Callable[[MeasurementSetup], Any]


def _seqloom(on: str, *, compiled: bool) -> Build:
    def build(setup: MeasurementSetup) -> Any:
        from benchmarks.tensor._seqloom_networks import OurSide

        return OurSide(setup, on=on, compiled=compiled)

    return build


def _torch(*, compiled: bool) -> Build:
    def build(setup: MeasurementSetup) -> Any:
        from benchmarks.tensor._torch_networks import TorchSide

        return TorchSide(setup, compiled=compiled)

    return build


def _jax(setup: MeasurementSetup) -> Any:
    from benchmarks.tensor._jax_networks import JaxSide

    return JaxSide(setup)


def _numpy_floor(setup: MeasurementSetup) -> Any:
    return NumPyProducts(products_of(setup.name))


def _torch_floor(setup: MeasurementSetup) -> Any:
    from benchmarks.tensor._torch_networks import TorchProducts

    return TorchProducts(products_of(setup.name), setup.threads)


SIDES: dict[str, Build] = {
    "floor": _numpy_floor,
    "torch floor": _torch_floor,
    "numpy": _seqloom("numpy", compiled=False),
    "numpy compiled": _seqloom("numpy", compiled=True),
    "torch eager": _torch(compiled=False),
    "torch.compile": _torch(compiled=True),
    "jax.jit": _jax,
    "ours on torch": _seqloom("torch", compiled=False),
    "ours on torch compiled": _seqloom("torch", compiled=True),
    "ours on jax compiled": _seqloom("jax", compiled=True),
}


def environment(threads: int) -> dict[str, str]:
    """Return environment variables that set the threads of BLAS, OpenMP and XLA."""
    names = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NPROC",
        "PST_NUM_THREADS",
    )
    return {**os.environ, **dict.fromkeys(names, str(threads))}
