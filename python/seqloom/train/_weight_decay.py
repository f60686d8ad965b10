"""Which parameters the default optimiser does not shrink: biases and normalisation."""

import re
from collections.abc import Iterator
from typing import Any

from seqloom.models import TorchModule
from seqloom.nn import GroupNorm, LayerNorm, Module, Param, RMSNorm
from seqloom.nn._batch_norm import BatchNorm

_NORMS = (BatchNorm, GroupNorm, LayerNorm, RMSNorm)
# Names of classes such as LlamaRMSNorm and BatchNorm3d; not of PreNorm, whose parameters
# belong to its parts.
_NORM_NAME = re.compile(r"Norm([123]d)?$")
# Torch names biases of attention and of recurrent layers bias_k, in_proj_bias, bias_ih_l0.
_BIAS_NAME = re.compile(r"(^|_)bias(_|$)")


def list_undecayed(model: Module) -> tuple[str, ...]:
    """Lists vectors, biases and the parameters of normalisation layers, by path."""
    norms = {id(part) for part in _list_norm_parts(model)}
    return tuple(
        path
        for path, param in model.parameters()
        if len(param.shape) <= 1
        or _BIAS_NAME.search(path.rpartition(".")[2])
        or id(param) in norms
    )


def _list_norm_parts(model: Module) -> Iterator[Any]:
    """Yields the parameters that belong to a normalisation layer itself."""
    if isinstance(model, TorchModule):
        # The parameters of ours, by torch's names.
        for prefix, module in model.module.named_modules():
            if _NORM_NAME.search(type(module).__name__):
                names = (name for name, _ in module.named_parameters(recurse=False))
                paths = (f"{prefix}.{name}" if prefix else name for name in names)
                yield from (part for path in paths if (part := model.stored.get(path)))
        return
    for _, part in [("", model), *model.named(Module)]:
        if isinstance(part, _NORMS) or _NORM_NAME.search(type(part).__name__):
            yield from (value for value in vars(part).values() if isinstance(value, Param))
