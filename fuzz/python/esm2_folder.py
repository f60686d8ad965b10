"""Load folders of ESM-2 with valid weights, but changed settings."""

from __future__ import annotations

import json
import shutil

from hostile import run, scratch
from json_values import mutate

import seqloom as sl


def _try_one(data: bytes) -> None:
    folder = scratch("esm2")
    (folder / "config.json").write_bytes(data)
    str(sl.models.ESM2.load(folder))


def _seeds() -> list[bytes]:
    folder = scratch("esm2")
    shutil.rmtree(folder, ignore_errors=True)
    sl.models.ESM2Config(layers=1, width=8, heads=2).init("numpy").save(folder)
    text = (folder / "config.json").read_bytes()
    return [text, json.dumps(json.loads(text)).encode()]


if __name__ == "__main__":
    run(_try_one, _seeds(), mutate)
