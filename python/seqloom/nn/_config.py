"""Config: settings from which a network is built, also in JSON and TOML files."""

from __future__ import annotations

import json
import tomllib
from abc import ABC, abstractmethod
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from seqloom._config import JsonConfig
from seqloom._files import as_path_text, write_atomic
from seqloom._key import Key
from seqloom.errors import ArgumentError, ConfigError, FileError, MissingFileError

if TYPE_CHECKING:
    import os

    from seqloom.nn._module import Module
    from seqloom.tensor import Backend


Settings = TypeVar("Settings", bound=JsonConfig)
_DEFAULT_KEY = Key(0)


class Config(JsonConfig, ABC):
    """Base class of a network's settings: a frozen dataclass that builds the network.

    A subclass defines ``build``, which creates the module from the fields. The method
    `init` creates the module and also binds it to a backend.

    Examples:
        >>> from dataclasses import dataclass
        >>> import seqloom as sl
        >>> @dataclass(frozen=True)
        ... class ScorerConfig(sl.nn.Config):
        ...     width: int = 8
        ...
        ...     def build(self):
        ...         return sl.nn.Linear(self.width, 2)
        >>> ScorerConfig(width=4).init("numpy", sl.Key(0)).number_of_parameters
        10
    """

    @abstractmethod
    def build(self) -> Any:
        """Create the module without a backend.

        Returns:
            A new module.

        Examples:
            >>> import seqloom as sl
            >>> type(sl.models.SequenceCNNConfig(channels=4, outputs=2).build()).__name__
            'SequenceCNN'
        """

    def init(self, backend: Backend | str = "numpy", key: Key = _DEFAULT_KEY) -> Any:
        """Create the module and bind it to a backend.

        Args:
            backend: A backend or its name.
            key: Random key; each parameter is initialised on first use with the key
                ``key.fold(path)``.

        Returns:
            A new module.

        Examples:
            >>> import seqloom as sl
            >>> sl.models.SequenceCNNConfig(channels=4, outputs=2).init("numpy").backend
            numpy
        """
        module: Module = self.build()
        return module.bind(backend, key)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the settings to a file atomically.

        Args:
            file: Path; its suffix, ``.json`` or ``.toml``, determines the format.
                TOML has no None: a field is omitted if both its value and its default are
                None.

        Raises:
            ArgumentError: The path ends neither in ``.json`` nor in ``.toml``.
            ConfigError: A field is None but its default is not None, so TOML cannot
                represent the field.
            FileError: The file cannot be written.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.SequenceCNNConfig(channels=4, outputs=2)
            >>> config.save("network.toml")
            >>> sl.nn.Config.load("network.toml") == config
            True
        """
        save_config(self, file)

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Self:
        """Read settings from a file; no code in the file is executed.

        Args:
            file: Path; its suffix, ``.json`` or ``.toml``, determines the format.

        Returns:
            Settings of the class given in the file: this class or a subclass that is
                already defined.

        Raises:
            ArgumentError: The path ends neither in ``.json`` nor in ``.toml``.
            ConfigError: The file is not JSON or TOML (the message contains the line), or
                its fields are invalid, as in `from_dict`.
            FileError: The file cannot be read, or does not exist (MissingFileError).

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> _ = Path("cnn.toml").write_text(
            ...     'class = "SequenceCNNConfig"\\nchannels = 4\\noutputs = 2'
            ... )
            >>> sl.models.SequenceCNNConfig.load("cnn.toml").outputs
            2
        """
        return load_config(cls, file)


def save_config(config: JsonConfig, file: str | os.PathLike[str]) -> None:
    """Write settings to a file atomically."""
    path = Path(as_path_text("file", file))
    if _require_suffix(path) == ".toml":
        import tomli_w

        text = tomli_w.dumps(_to_toml_table(config))
    else:
        text = json.dumps(config.to_dict(), indent=2) + "\n"
    write_atomic(path, text.encode())


def load_config(kind: type[Settings], file: str | os.PathLike[str]) -> Settings:
    """Read settings from a file."""
    path = Path(as_path_text("file", file))
    parse = tomllib.loads if _require_suffix(path) == ".toml" else json.loads
    try:
        values: object = parse(path.read_bytes().decode())
    except FileNotFoundError:
        raise MissingFileError(f"{path}: no such file; expected settings") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # the message contains the line number
        name = path.suffix.lower()[1:].upper()
        raise ConfigError(f"{path}: the settings are not {name}: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: the settings are not a JSON object")
    try:
        return kind.from_dict(cast("dict[str, Any]", values))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _require_suffix(path: Path) -> str:
    """Return the suffix of a path; raise if it is neither .json nor .toml."""
    suffix = path.suffix.lower()
    if suffix not in {".json", ".toml"}:
        raise ArgumentError(
            f"file must end in .json or .toml, which sets the format, got {str(path)!r}"
        )
    return suffix


def _to_toml_table(config: JsonConfig) -> dict[str, Any]:
    """Return settings as a dict without None, because TOML cannot represent None."""
    table = config.to_dict()
    name = type(config).__name__
    for field in fields(cast("Any", config)):
        if field.name not in table:
            continue
        value = getattr(config, field.name)
        if value is None and field.default is None:
            del table[field.name]  # loading restores the default, None
            continue
        table[field.name] = _to_toml_value(f"{name}.{field.name}", value)
    return table


def _to_toml_value(field: str, value: object) -> Any:
    """Convert nested settings to TOML values; raise for None, which TOML lacks."""
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
