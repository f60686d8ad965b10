"""Settings in files, JSON or TOML by the suffix."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from seqloom._config import JsonConfig
from seqloom._files import check_path, write_atomic
from seqloom.errors import ArgumentError, ConfigError, FileError, MissingFileError

if TYPE_CHECKING:
    import os

_Config = TypeVar("_Config", bound=JsonConfig)


def save_config(config: JsonConfig, file: str | os.PathLike[str]) -> None:
    """Writes settings to a file, which is whole or absent."""
    path = Path(check_path("file", file))
    is_toml = _find_suffix(path) == ".toml"
    write_atomic(path, (_to_toml(config) if is_toml else _to_json(config)).encode())


def load_config(kind: type[_Config], file: str | os.PathLike[str]) -> _Config:
    """Reads settings from a file."""
    path = Path(check_path("file", file))
    parse = tomllib.loads if _find_suffix(path) == ".toml" else json.loads
    try:
        values: object = parse(path.read_bytes().decode())
    except FileNotFoundError:
        raise MissingFileError(f"{path}: no such file of settings") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # with the line and the column
        name = path.suffix.lower()[1:].upper()
        raise ConfigError(f"{path}: the settings are not {name}: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: the settings are not a JSON object")
    try:
        return kind.from_dict(cast("dict[str, Any]", values))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _find_suffix(path: Path) -> str:
    """Returns the suffix of a file; refuses one that names no format."""
    suffix = path.suffix.lower()
    if suffix not in {".json", ".toml"}:
        raise ArgumentError(
            f"file must end in .json or .toml, which says the format, got {str(path)!r}"
        )
    return suffix


def _to_json(config: JsonConfig) -> str:
    """Writes settings as JSON for people to read and change."""
    return json.dumps(config.to_dict(), indent=2) + "\n"


def _to_toml(config: JsonConfig) -> str:
    """Writes settings as TOML."""
    import tomli_w

    return tomli_w.dumps(_to_toml_table(config))


def _to_toml_table(config: JsonConfig) -> dict[str, Any]:
    """Returns settings as a dict without None, which TOML cannot write."""
    table = config.to_dict()
    name = type(config).__name__
    for field in fields(cast("Any", config)):
        if field.name not in table:
            continue
        value = getattr(config, field.name)
        if value is None and field.default is None:
            del table[field.name]  # reading gives it again
            continue
        table[field.name] = _to_toml_value(f"{name}.{field.name}", value)
    return table


def _to_toml_value(field: str, value: object) -> Any:
    """Returns a value without None; refuses None that reading would not give again."""
    if isinstance(value, JsonConfig):
        return _to_toml_table(value)
    if isinstance(value, (list, tuple)):
        return [_to_toml_value(field, item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {key: _to_toml_value(f"{field}.{key}", item) for key, item in items}
    if value is None:
        raise ConfigError(
            f"{field} is None, which TOML cannot write; save the settings to a .json file"
        )
    return value
