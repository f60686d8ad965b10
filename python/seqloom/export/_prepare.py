"""What is exported: a network on NumPy in evaluation mode, its encoder and its task."""

from __future__ import annotations

import os
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, cast

from seqloom._arguments import quote
from seqloom._threads import count_threads
from seqloom.data import EmbeddingEncoder
from seqloom.errors import ArgumentError, ExportError
from seqloom.export._inputs import Input
from seqloom.infer._doubts import warn_of_unfinished
from seqloom.infer._forward import float_type_of
from seqloom.models import ESM2, Custom, OnnxModule, Task, TorchModule, Trained
from seqloom.models._trained import find_trained
from seqloom.nn import Int8Linear, Module
from seqloom.nn._stored import Stored

_RECORDS = 256


@dataclass(frozen=True, slots=True)
class Subject:
    """A network that can be traced, and what goes with it."""

    model: Module
    encoder: Any
    task: Task
    batch_size: int
    trained: Trained | None = None  # what the network is a part of


def prepare(model: object, *, encoder: Any, task: Any, batch_size: int | None) -> Subject:
    """Takes a trained model, a run, its folder, or a network with what it needs."""
    held = getattr(model, "trained", model)
    if isinstance(held, (Trained, str, bytes, os.PathLike)):
        if encoder is not None or task is not None:
            raise ArgumentError(
                "a trained model has its encoder and its task: leave encoder and task out"
            )
        trained = find_trained(cast("Any", held), num_threads=count_threads(None))
        warn_of_unfinished(trained)
        size = batch_size or trained.batch_size
        network = _take(trained.model)
        return Subject(network, trained.encoder, trained.task, size, trained)
    if task is not None and not isinstance(task, Task):
        raise ArgumentError(f"task must be one of sl.models, got {quote(task)}")
    known = encoder if encoder is not None else setting_of(model, "encoder")
    return Subject(_take(model), known, task or Custom(), batch_size or _RECORDS)


def setting_of(model: object, name: str) -> Any:
    """Gives a setting that a network may have: encoder, length, crop or pair."""
    # A network of an ONNX file has them itself; others keep settings in their config.
    holder = model if isinstance(model, OnnxModule) else getattr(model, "config", None)
    return getattr(holder, name, None)


def check_reads(subject: Subject, inputs: object) -> None:
    """Refuses a network of which it is not said what it reads, or twice."""
    if (subject.encoder is None) == (inputs is None):
        raise ArgumentError(
            "give either encoder=, what makes numbers of records, or inputs=, the shapes "
            'of the arrays that the network reads, such as ("batch", 4, "length")'
        )


def take_embeddings(subject: Subject, inputs: Any) -> tuple[Subject, Any]:
    """Gives a head on embeddings as a network on arrays: nothing encodes its records."""
    encoder = subject.encoder
    if not isinstance(encoder, EmbeddingEncoder):
        return subject, inputs
    check_reads(subject, inputs)
    row = Input(("batch", encoder.width), float_type_of(subject.model))
    return replace(subject, encoder=None), row


def is_packed(model: Module) -> bool:
    """Tells a network that reads tokens end to end."""
    return isinstance(model, ESM2)


def _take(model: Any) -> Module:
    """Copies a network, without its numbers, to NumPy; the user's stays as it is."""
    if isinstance(model, TorchModule) or (
        hasattr(model, "state_dict") and not isinstance(model, Module)
    ):
        raise ExportError(
            f"{type(getattr(model, 'module', model)).__name__} is a module of torch, whose "
            "operations are torch's: write the network with sl.nn, or export it by "
            "torch.onnx and read that with sl.models.from_onnx"
        )
    if not isinstance(model, Module):
        raise ArgumentError(
            "model must be a trained model, a run, its folder or a module of sl.nn, got "
            f"{quote(model)}"
        )
    int8 = next((path for path, _ in model.named(Int8Linear)), None)
    if int8 is not None:
        raise ExportError(
            f"{int8} is an Int8Linear, which computes with integers of 8 bits; an exported "
            "model has none: export the network as it was before sl.nn.quantize_int8"
        )
    stored = [part for _, part in model.named(Stored)]
    twin = deepcopy(model, {id(part): part.copy() for part in stored})
    return twin.to("numpy").eval()
