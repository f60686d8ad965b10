"""How a network is called when it is exported: the inputs of its graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.data import GenotypeEncoder
from seqloom.errors import ArgumentError, ExportError
from seqloom.export._inputs import Input
from seqloom.export._trace import Call, Traced, trace
from seqloom.infer._forward import Forward, float_type_of
from seqloom.models._reads import counts_words, is_of_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqloom.nn import Module
    from seqloom.tensor import Tensor

GRAPH, UNPADDED = "graph.json", "graph-unpadded.json"
_PADDED_SIZES = ("batch", "length")
_PACKED_SIZES = ("total", "sequences", "longest", "starts")


@dataclass(frozen=True, slots=True)
class Reading:
    """What an exported network reads: records by an encoder, or arrays."""

    encoder: Any = None
    length: int | None = None
    is_padded: bool = False  # whether records may be shorter than the length
    inputs: Mapping[str, Input] | None = None  # of arrays


def trace_padded(model: Module, reading: Reading) -> dict[str, Traced]:
    """Traces the call that `predict` makes; by file, with a mask and without."""
    forward = Forward.of(model)
    if reading.inputs is not None:
        return {GRAPH: _trace_inputs(model, forward, reading.inputs)}
    inputs = _inputs_of(model, forward, reading)
    whole = _trace_inputs(model, forward, inputs)
    if not _may_pad(reading):
        return {GRAPH: whole}
    mask = Input(("batch", reading.length or "length"), float_type_of(model))
    padded = _trace_inputs(model, forward, {**inputs, "mask": mask})
    reads_mask = "mask" in list_inputs(padded)
    return {GRAPH: padded, UNPADDED: whole} if reads_mask else {GRAPH: whole}


def _may_pad(reading: Reading) -> bool:
    """Tells whether records of a batch may end before its last position."""
    encoder = reading.encoder
    if isinstance(encoder, GenotypeEncoder) or counts_words(encoder):
        return False
    return reading.length is None or reading.is_padded


def trace_packed(model: Module) -> dict[str, Traced]:
    """Traces the call of a network of tokens that lie end to end."""
    inputs = {
        "input_ids": Input(("total",), "int32"),
        "cu_seqlens": Input(("starts",), "int32"),
    }

    def run(model: Any, given: Mapping[str, Tensor], sizes: Mapping[str, int]) -> Any:
        return model(given["input_ids"], given["cu_seqlens"], sizes["longest"])

    return {GRAPH: trace(model, Call(inputs, run, _PACKED_SIZES))}


def trace_rows(model: Module) -> Traced:
    """Traces the call of a network of tokens that are padded."""
    inputs = {
        "input_ids": Input(("batch", "length"), "int64"),
        "mask": Input(("batch", "length")),
    }

    def run(model: Any, given: Mapping[str, Tensor], sizes: Mapping[str, int]) -> Any:
        del sizes
        return model(given["input_ids"], mask=given["mask"])

    return trace(model, Call(inputs, run, _PADDED_SIZES))


def list_inputs(traced: Traced) -> list[str]:
    """Lists the inputs that a graph reads."""
    numbers = (value.number for value in traced.graph.inputs)
    return [traced.inputs[it] for it in numbers if it in traced.inputs]


def _trace_inputs(model: Module, forward: Forward, inputs: Mapping[str, Input]) -> Traced:
    """Traces the network's method on inputs by name."""

    def run(model: Any, given: Mapping[str, Tensor], sizes: Mapping[str, int]) -> Any:
        del sizes
        return forward.call(model, given)

    return trace(model, Call(inputs, run, _PADDED_SIZES))


def _inputs_of(model: Module, forward: Forward, reading: Reading) -> dict[str, Input]:
    """Finds the inputs of a network whose records an encoder makes."""
    encoder = reading.encoder
    places: Any = reading.length or "length"
    kind = "int32" if is_of_tokens(encoder) else float_type_of(model)
    if isinstance(encoder, GenotypeEncoder):
        return _genotype_inputs(encoder, forward, kind)
    if counts_words(encoder):
        places = int(encoder.places([encoder.k])[0])
    return {
        "inputs": Input(encoder.shape("batch", places), kind),
        "lengths": Input(("batch",), "int64"),
    }


def _genotype_inputs(encoder: Any, forward: Forward, kind: str) -> dict[str, Input]:
    """Finds the inputs of a network of genotypes, which may ask for covariates by name."""
    if not encoder.is_fitted:
        raise ExportError(
            "the encoder is not fitted, so that no genotype has a number: "
            "encoder.fit(train) gives one that is"
        )
    variants, more = len(encoder.variants), len(encoder.covariate_names)
    names = forward.names
    if more and names is not None and "covariates" in names:
        both = {"inputs": variants, "covariates": more}
    else:
        both = {"inputs": variants + more}
    return {name: Input(("batch", size), kind) for name, size in both.items()}


def as_inputs(given: Any) -> dict[str, Input] | None:
    """Takes a user's inputs: one, or several by name; a tuple is a shape of floats."""
    if given is None:
        return None
    found: Mapping[str, Any] = given if hasattr(given, "items") else {"inputs": given}
    try:
        made = {
            name: it if isinstance(it, Input) else Input(tuple(it))
            for name, it in found.items()
        }
    except TypeError:
        raise ArgumentError(
            'inputs must be a shape such as ("batch", 4, "length"), an Input, or several '
            f"of these by name, got {given!r}"
        ) from None
    return made
