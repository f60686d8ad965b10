"""encoder.json: how a record becomes numbers, without Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.data import GenotypeEncoder
from seqloom.encode._base import SequenceEncoder
from seqloom.errors import ExportError

if TYPE_CHECKING:
    import numpy as np


def check_encoder(encoder: object) -> None:
    """Refuses an encoder that nothing but Python's could run."""
    if encoder is None or isinstance(encoder, (SequenceEncoder, GenotypeEncoder)):
        return
    kind = getattr(encoder, "__qualname__", type(encoder).__name__)
    raise ExportError(
        f"the encoder {kind} is no encoder of sl.encode, so that only Python could run it; "
        "export the network on arrays: sl.export.save(trained.model, path, "
        'inputs=("batch", 4, "length"))'
    )


def describe(encoder: Any, dtype: str) -> dict[str, Any]:
    """Gives the content of encoder.json; the numbers are of the graph's input type."""
    if isinstance(encoder, GenotypeEncoder):
        kernel = {
            "kind": "genotypes",
            "count_a1": encoder.count_A1,
            "covariates": list(encoder.covariate_names),
        }
    else:
        kernel = encoder.kernel_settings
    return {"settings": encoder.to_dict(), "kernel": {**kernel, "dtype": dtype}}


def learned_arrays(encoder: Any, dtype: str) -> dict[str, np.ndarray[Any, Any]]:
    """Gives the content of encoder.safetensors: none of an encoder that learns nothing."""
    if not isinstance(encoder, GenotypeEncoder):
        return {}
    return {**encoder.arrays(), "tables": encoder.tables(dtype)}
