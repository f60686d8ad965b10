"""Loads the example backend by its path.

The folder ``examples`` cannot be imported from, because some of its modules have the
same names as test modules.
"""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import seqloom as sl

EXAMPLE_PATH = Path(__file__).parents[1] / "examples" / "strict_backend.py"


def strict_backend() -> sl.tensor.Backend:
    """Return a new backend over array_api_strict."""
    spec = spec_from_file_location(EXAMPLE_PATH.stem, EXAMPLE_PATH)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.StrictBackend()
