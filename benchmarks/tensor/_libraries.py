"""Implementations of the networks by name; each imports only its library."""

import os
from collections.abc import Callable
from typing import Any

from benchmarks.tensor._networks import MeasurementSetup
from benchmarks.tensor._products import NumPyProducts, step_products

Build = Callable[[MeasurementSetup], Any]


def _make_seqloom_builder(on: str, *, compiled: bool) -> Build:
    def build_trainer(setup: MeasurementSetup) -> Any:
        from benchmarks.tensor._seqloom_networks import SeqloomTrainer

        return SeqloomTrainer(setup, on=on, compiled=compiled)

    return build_trainer


def _make_torch_builder(*, compiled: bool) -> Build:
    def build_trainer(setup: MeasurementSetup) -> Any:
        from benchmarks.tensor._torch_networks import TorchTrainer

        return TorchTrainer(setup, compiled=compiled)

    return build_trainer


def _build_jax_trainer(setup: MeasurementSetup) -> Any:
    from benchmarks.tensor._jax_networks import JaxTrainer

    return JaxTrainer(setup)


def _build_numpy_products(setup: MeasurementSetup) -> Any:
    return NumPyProducts(step_products(setup.name))


def _build_torch_products(setup: MeasurementSetup) -> Any:
    from benchmarks.tensor._torch_networks import TorchProducts

    return TorchProducts(step_products(setup.name), setup.threads)


BUILDER_OF_LIBRARY: dict[str, Build] = {
    "floor": _build_numpy_products,
    "torch floor": _build_torch_products,
    "numpy": _make_seqloom_builder("numpy", compiled=False),
    "numpy compiled": _make_seqloom_builder("numpy", compiled=True),
    "torch eager": _make_torch_builder(compiled=False),
    "torch.compile": _make_torch_builder(compiled=True),
    "jax.jit": _build_jax_trainer,
    "ours on torch": _make_seqloom_builder("torch", compiled=False),
    "ours on torch compiled": _make_seqloom_builder("torch", compiled=True),
    "ours on jax compiled": _make_seqloom_builder("jax", compiled=True),
}


def thread_environment(threads: int) -> dict[str, str]:
    """Return environment variables that set the threads of BLAS, OpenMP and XLA."""
    names = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NPROC",
        "PST_NUM_THREADS",
    )
    return {**os.environ, **dict.fromkeys(names, str(threads))}
