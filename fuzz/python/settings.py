"""Read settings of every class; writing and reading them again must not change them."""

from __future__ import annotations

import json

from hostile import run, scratch
from json_values import mutate

import seqloom as sl
from seqloom._config import JsonConfig
from seqloom.errors import SeqloomError
from seqloom.nn._config import load_config


def _try_one(data: bytes) -> None:
    for suffix in (".toml", ".json"):
        path = scratch(f"settings{suffix}")
        path.write_bytes(data)
        try:
            load_config(JsonConfig, path)
        except SeqloomError as error:
            str(error)
    config = JsonConfig.from_json(data.decode("utf-8", "replace"))
    text = config.to_json()
    assert JsonConfig.from_json(text).to_json() == text
    str(config)


def _seeds() -> list[bytes]:
    """Return the settings of every class with defaults for all arguments."""
    settings: list[bytes] = []
    for kind in (
        *vars(sl.encode).values(),
        *vars(sl.models).values(),
        *vars(sl.optim).values(),
    ):
        try:
            settings.append(json.dumps(kind().to_dict()).encode())
        except (TypeError, AttributeError, ValueError):
            continue
    return [*settings, b'class = "OneHot"\nversion = 1\nalphabet = "dna"\n']


if __name__ == "__main__":
    run(_try_one, _seeds(), mutate)
