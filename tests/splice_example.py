"""The example network of splice sites, its published files, and a real sequence."""

from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from fastx import real

EXAMPLE_PATH = Path(__file__).parents[1] / "examples" / "splice_sites.py"
# Position in the E. coli genome where network 1 predicts a splice site.
SPLICE_SITE_POSITION = 293_948


@cache
def example():
    """Load the example by its path, as some modules of its folder are named like tests."""
    spec = spec_from_file_location(EXAMPLE_PATH.stem, EXAMPLE_PATH)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def published(number):
    """Return one of the five files; skip the test if the package is not installed."""
    pytest.importorskip("h5py", reason="h5py is not installed")
    spec = find_spec("spliceai")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("spliceai is not installed: uv pip install --no-deps spliceai")
    return Path(spec.submodule_search_locations[0], "models", f"spliceai{number}.h5")


@cache
def arrays(number):
    """Return every array of a file, by layer and name."""
    return sl.record.load(published(number))


def network(number, backend):
    """Return the example with the weights of a file, in evaluation mode."""
    return example().load_spliceai([published(number)], backend)[0]


def letters(count):
    """Return part of a genome as ``(1, 4, count)``, with a splice site in the middle."""
    path = real("genomes", "GCF_000005845.2_ASM584v2_genomic.fna.gz")
    with sl.io.open_sequences(path) as reader:
        genome = np.frombuffer(bytes(next(iter(reader)).sequence), "u1")
    start = SPLICE_SITE_POSITION - count // 2
    chosen = genome[start : start + count]
    return np.stack([[chosen == ord(letter) for letter in "ACGT"]]).astype("float32")
