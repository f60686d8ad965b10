"""Load checkpoints with changed metadata, and with valid, changed or missing arrays."""

from __future__ import annotations

import json
from typing import Any, cast

import numpy as np
from hostile import parse, run, scratch
from json_values import mutate

import seqloom as sl
from seqloom.train._checkpoints import RunState, load_checkpoint, save_checkpoint

_RUN_IDENTITY = {"epochs": 3, "data": {"n": 4}, "seed": 1}


def _state() -> RunState:
    model = sl.nn.Linear(2, 1).bind(sl.tensor.backend("numpy"), sl.Key(0))
    average = sl.optim.WeightAverage()
    average.update(model)
    return RunState(model, sl.optim.AdamW(), weight_average=average)


def _try_one(data: bytes) -> None:
    path = scratch("checkpoint.safetensors")
    facts, _, rest = data.partition(b"\n")
    record = sl.record.load(path.with_stem("whole"))
    arrays = {name: np.asarray(array) for name, array in record.items()}
    changed = parse(rest)
    for name, numbers in (changed if isinstance(changed, dict) else {}).items():
        try:
            arrays[name] = np.array(numbers, "f8")
        except (ValueError, TypeError, OverflowError):
            arrays.pop(name, None)
    metadata = parse(facts)
    fields: Any = metadata if isinstance(metadata, dict) else {}
    sl.record.Record(cast("Any", arrays), metadata=fields).save(path)
    load_checkpoint(path, _state(), _RUN_IDENTITY)


def _seeds() -> list[bytes]:
    path = scratch("whole.safetensors")
    state = _state()
    save_checkpoint(path, state, _RUN_IDENTITY)
    facts = sl.record.load(path).metadata
    facts["numbers"] = ["auc"]
    facts["history"] = [{"epoch": 1, "train_loss": 0.5}]
    text = json.dumps(facts).encode()
    return [text, text + b'\n{"epoch.steps": [[4, 0.5, 1, 2.0]], "model.bias": [1]}']


if __name__ == "__main__":
    run(_try_one, _seeds(), mutate)
