"""Load run folders with valid weights, but changed settings."""

from __future__ import annotations

import json
import shutil

from hostile import run, scratch
from json_values import mutate

import seqloom as sl

_NETWORKS = [
    (
        sl.models.SequenceCNNConfig(channels=4, outputs=2),
        sl.encode.OneHot("dna"),
        sl.models.Classify(("no", "yes")),
    ),
    (
        sl.models.SequenceCNNConfig(channels=5, outputs=1),
        sl.encode.Tokens("dna"),
        sl.models.Regress(("gc",)),
    ),
]


def _try_one(data: bytes) -> None:
    folder = scratch("run")
    (folder / "config.json").write_bytes(data)
    model = sl.models.load(folder)
    str(model)


def _seeds() -> list[bytes]:
    """Return the settings of several runs; leave the weights of the last in the folder."""
    configs: list[bytes] = []
    shutil.rmtree(scratch("run"), ignore_errors=True)
    for config, encoder, task in reversed(_NETWORKS):
        model = sl.models.Trained(config.init("numpy").eval(), encoder, task, 256)
        model.save(scratch("run"), overwrite=True)
        configs.append((scratch("run") / "config.json").read_bytes())
    short = [json.dumps(json.loads(text)).encode() for text in configs]
    return [*configs, *short]


if __name__ == "__main__":
    run(_try_one, _seeds(), mutate)
