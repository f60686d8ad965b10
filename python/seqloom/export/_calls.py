"""Prepare the network to export, and the calls of the network to trace."""

from __future__ import annotations

import os
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from seqloom._arguments import quote
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, ExportError
from seqloom.export._trace import Input, NetworkCall, Traced, trace_call
from seqloom.infer._forward import Forward, find_float_type
from seqloom.infer._input_warnings import warn_of_unfinished
from seqloom.infer._kinds import find_encoder_kind
from seqloom.models import ESM2, Custom, OnnxModule, Profile, Task, TorchModule, Trained
from seqloom.models._examples import counts_kmers, returns_tokens
from seqloom.models._trained import find_trained
from seqloom.models._training_facts import LearnedEncoder
from seqloom.nn import Int8Linear, Module
from seqloom.nn._parameters import ModuleArray

if TYPE_CHECKING:
    from collections.abc import Mapping


GRAPH_FILE, UNPADDED_FILE = "graph.json", "graph-unpadded.json"
_PADDED_SIZES = ("batch", "length")
_PACKED_SIZES = ("total", "sequences", "longest", "starts")
_DEFAULT_BATCH_SIZE = 256


@dataclass(frozen=True, slots=True)
class ExportSubject:
    """A network to export, with its encoder, task and settings."""

    model: Module
    encoder: Any
    task: Task
    batch_size: int
    trained: Trained | None = None  # the trained model that contains the network, if any

    @property
    def length(self) -> int | None:
        """Number of positions of all records; None if records may have any length."""
        length = find_setting(self.model, "length")
        facts = self.trained and self.trained.trained_on
        lengths = set((facts and facts.lengths) or ())
        # Networks of tracks read regions of one width, without a mask.
        if length is None and isinstance(self.task, Profile) and len(lengths) == 1:
            return lengths.pop()
        return length


def prepare_export(
    model: object, *, encoder: Any, task: Any, batch_size: int | None
) -> ExportSubject:
    """Return the network of a trained model, a run, a run folder or a module."""
    held = getattr(model, "trained", model)
    if isinstance(held, (Trained, str, bytes, os.PathLike)):
        if encoder is not None or task is not None:
            raise ArgumentError(
                "a trained model has an encoder and a task: omit encoder and task"
            )
        trained = find_trained(cast("Any", held), num_threads=count_threads(None))
        warn_of_unfinished(trained)
        size = batch_size or trained.batch_size
        network = _copy_to_numpy(trained.model)
        return ExportSubject(network, trained.encoder, trained.task, size, trained)
    if task is not None and not isinstance(task, Task):
        raise ArgumentError(f"task must be one of sl.models, got {quote(task)}")
    known = encoder if encoder is not None else find_setting(model, "encoder")
    return ExportSubject(
        _copy_to_numpy(model), known, task or Custom(), batch_size or _DEFAULT_BATCH_SIZE
    )


def find_setting(model: object, name: str) -> Any:
    """Return a setting (encoder, length, crop or pair), or None if it is not set."""
    # A network from an ONNX file stores settings as attributes; other networks have a
    # config.
    holder = model if isinstance(model, OnnxModule) else getattr(model, "config", None)
    return getattr(holder, name, None)


def check_one_input(subject: ExportSubject, inputs: object) -> None:
    """Raise unless exactly one of encoder and inputs is given."""
    if (subject.encoder is None) == (inputs is None):
        raise ArgumentError(
            "give either encoder=, which converts records to numbers, or inputs=, the "
            "shapes "
            'of the arrays that the network reads, such as ("batch", 4, "length")'
        )


def read_embeddings(subject: ExportSubject, inputs: Any) -> tuple[ExportSubject, Any]:
    """Return a model of embeddings as a network that reads arrays and needs no encoder."""
    kind = find_encoder_kind(subject.encoder)
    if kind.count_inputs is None or kind.list_arrays is not None:
        return subject, inputs
    check_one_input(subject, inputs)
    width = kind.count_inputs(subject.encoder)["inputs"]
    row = Input(("batch", width), find_float_type(subject.model))
    return replace(subject, encoder=None), row


def reads_packed(model: Module) -> bool:
    """Return whether a network reads packed tokens, like `ESM2`."""
    return isinstance(model, ESM2)


def _copy_to_numpy(model: Any) -> Module:
    """Copy a network to the NumPy backend without changing the original."""
    if isinstance(model, TorchModule) or (
        hasattr(model, "state_dict") and not isinstance(model, Module)
    ):
        raise ExportError(
            f"{type(getattr(model, 'module', model)).__name__} is a PyTorch module with "
            "PyTorch operations: write the network with sl.nn, or export it with "
            "torch.onnx and read that file with sl.models.from_onnx"
        )
    if not isinstance(model, Module):
        raise ArgumentError(
            "model must be a trained model, a run, its folder or a module of sl.nn, got "
            f"{quote(model)}"
        )
    int8 = next((path for path, _ in model.named(Int8Linear)), None)
    if int8 is not None:
        raise ExportError(
            f"{int8} is an Int8Linear, which computes with 8-bit integers; exported models "
            "do not support it: export the network without sl.nn.quantize_int8"
        )
    stored = [part for _, part in model.named(ModuleArray)]
    twin = deepcopy(model, {id(part): part.copy() for part in stored})
    return twin.to("numpy").eval()


@dataclass(frozen=True, slots=True)
class NetworkInput:
    """Input of an exported network: either records with an encoder, or arrays."""

    encoder: Any = None
    length: int | None = None
    is_padded: bool = False  # True if records may be shorter than the length
    inputs: Mapping[str, Input] | None = None  # None if no arrays are read


def trace_padded(subject: ExportSubject, reading: NetworkInput) -> dict[str, Traced]:
    """Trace the call of `predict` with and without a mask; return traces by file name."""
    check_one_input(subject, reading.inputs)
    model = subject.model
    forward = Forward.of(model)
    if reading.inputs is not None:
        return {GRAPH_FILE: _trace_inputs(model, forward, reading.inputs)}
    inputs = _encoder_inputs(model, forward, reading)
    whole = _trace_inputs(model, forward, inputs)
    if not _has_padding(reading):
        return {GRAPH_FILE: whole}
    mask = Input(("batch", reading.length or "length"), find_float_type(model))
    padded = _trace_inputs(model, forward, {**inputs, "mask": mask})
    reads_mask = "mask" in list_inputs(padded)
    return {GRAPH_FILE: padded, UNPADDED_FILE: whole} if reads_mask else {GRAPH_FILE: whole}


def _has_padding(reading: NetworkInput) -> bool:
    """Return whether the records of a batch may contain padding."""
    encoder = reading.encoder
    if not find_encoder_kind(encoder).has_letters or counts_kmers(encoder):
        return False
    return reading.length is None or reading.is_padded


def trace_packed(model: Module) -> dict[str, Traced]:
    """Trace the call of a network that reads packed tokens."""
    inputs = {
        "input_ids": Input(("total",), "int32"),
        "cu_seqlens": Input(("starts",), "int32"),
    }

    call = NetworkCall(
        inputs,
        lambda model, given, sizes: model(
            given["input_ids"], given["cu_seqlens"], sizes["longest"]
        ),
        _PACKED_SIZES,
    )
    return {GRAPH_FILE: trace_call(model, call)}


def trace_tokens(model: Module) -> Traced:
    """Trace the call of a network that reads padded tokens."""
    inputs = {
        "input_ids": Input(("batch", "length"), "int64"),
        "mask": Input(("batch", "length")),
    }

    call = NetworkCall(
        inputs,
        lambda model, given, _: model(given["input_ids"], mask=given["mask"]),
        _PADDED_SIZES,
    )
    return trace_call(model, call)


def list_inputs(traced: Traced) -> list[str]:
    """Return the names of the inputs that a graph reads."""
    numbers = (value.number for value in traced.graph.inputs)
    return [traced.inputs[it] for it in numbers if it in traced.inputs]


def _trace_inputs(model: Module, forward: Forward, inputs: Mapping[str, Input]) -> Traced:
    """Trace a method of the network on named inputs."""
    call = NetworkCall(
        inputs, lambda model, given, _: forward.call(model, given), _PADDED_SIZES
    )
    return trace_call(model, call)


def _encoder_inputs(
    model: Module, forward: Forward, reading: NetworkInput
) -> dict[str, Input]:
    """Return the inputs of a network that reads the batches of an encoder."""
    encoder = reading.encoder
    places: Any = reading.length or "length"
    kind = "int32" if returns_tokens(encoder) else find_float_type(model)
    if (count := find_encoder_kind(encoder).count_inputs) is not None:
        _check_is_fitted(encoder)
        return _token_inputs(count(encoder), forward, kind)
    if counts_kmers(encoder):
        places = int(encoder.places([encoder.k])[0])
    return {
        "inputs": Input(encoder.shape("batch", places), kind),
        "lengths": Input(("batch",), "int64"),
    }


def _check_is_fitted(encoder: Any) -> None:
    """Raise if an encoder is not fitted."""
    if isinstance(encoder, LearnedEncoder) and not encoder.is_fitted:
        raise ExportError(
            "the encoder is not fitted, so it cannot encode genotypes: "
            "pass the result of encoder.fit(train)"
        )


def _token_inputs(sizes: dict[str, int], forward: Forward, kind: str) -> dict[str, Input]:
    """Return the token inputs that the call of a network accepts."""
    asked = forward.names or set()
    others = {name: sizes[name] for name in sizes if name in asked and sizes[name]}
    others.pop("inputs", None)
    first = sum(sizes.values()) - sum(others.values())
    sizes = {"inputs": first, **others}
    return {name: Input(("batch", size), kind) for name, size in sizes.items()}


def to_named_inputs(given: Any) -> dict[str, Input] | None:
    """Convert the user's inputs to a dict, and tuples (shapes) to float32 inputs."""
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
