"""Published weights, random inputs, and the network in seqloom."""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLE_FILE = Path(__file__).parents[2] / "examples/splice_sites.py"
CONTEXT_BASES = 10_000
# Residual units, kernel size and dilation of each block.
RESIDUAL_BLOCKS = ((4, 11, 1), (4, 11, 4), (4, 21, 10), (4, 41, 25))
CHANNELS = 32

Work = Callable[[], Any]


def random_bases(count: int) -> np.ndarray:
    """Draw random one-hot bases with context, ``(1, 4, count + context)``."""
    drawn = np.random.default_rng(0).integers(4, size=count + CONTEXT_BASES)
    return np.eye(4, dtype="float32")[:, drawn][None]


def count_operations(count: int) -> int:
    """Return the number of multiplications and additions, without those of the head."""
    taps = sum(2 * units * size for units, size, _ in RESIDUAL_BLOCKS)
    skips = len(RESIDUAL_BLOCKS) + 1
    return 2 * (count + CONTEXT_BASES) * CHANNELS * (CHANNELS * (taps + skips) + 4)


@cache
def read_weights() -> dict[str, np.ndarray]:
    """Read the weights of the first of five networks in the package spliceai."""
    import seqloom as sl

    spec = find_spec("spliceai")
    if spec is None or spec.submodule_search_locations is None:
        raise SystemExit("install the weights: uv pip install --no-deps spliceai")
    path = Path(spec.submodule_search_locations[0], "models", "spliceai1.h5")
    return {name: np.asarray(values) for name, values in sl.record.load(path).items()}


def load_example() -> Any:
    """Load the module of the example by its path."""
    spec = spec_from_file_location(EXAMPLE_FILE.stem, EXAMPLE_FILE)
    assert spec is not None
    assert spec.loader is not None
    example = module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


def load_in_seqloom(count: int, threads: int, *, compiled: bool) -> Work:
    """Load the network of the example on the NumPy backend."""
    import seqloom as sl

    example = load_example()
    model = example.SpliceAIConfig().init(sl.tensor.backend("numpy", num_threads=threads))
    keys = example.keras_keys(model)
    model.load_record(read_weights(), keys=keys).eval()
    x = model.backend.tensor(random_bases(count))

    def evaluate(model: Any, x: Any) -> Any:
        return model(x)

    call = sl.tensor.compile(evaluate) if compiled else evaluate
    return lambda: call(model, x).numpy()
