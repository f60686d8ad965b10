"""Config: the settings from which a network is built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from seqloom._config import JsonConfig
from seqloom._config_file import load_config, save_config
from seqloom._key import Key

if TYPE_CHECKING:
    import os

    from seqloom.nn._module import Module
    from seqloom.tensor import Backend

_FIRST_KEY = Key(0)


class Config(JsonConfig, ABC):
    """Base of a network's settings: a frozen dataclass that builds the network.

    A subclass defines ``build``, which makes the module from the fields. `init` also binds
    the module to a backend.

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
        """Makes the module without a backend.

        Returns:
            A new module.

        Examples:
            >>> import seqloom as sl
            >>> type(sl.models.SequenceCNNConfig(channels=4, outputs=2).build()).__name__
            'SequenceCNN'
        """

    def init(self, backend: Backend | str = "numpy", key: Key = _FIRST_KEY) -> Any:
        """Makes the module and binds it to a backend.

        Args:
            backend: A backend or its name.
            key: Random key; each parameter is initialised, on first use, with
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
        """Writes the settings to a file, which is whole or absent.

        Args:
            file: Path that ends in ``.json`` or ``.toml``, which says the format. TOML has
                no None: a field that is None is left out if that is its default.

        Raises:
            ArgumentError: The path has another suffix.
            ConfigError: A field that TOML cannot write is None.
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
        """Reads settings that `save` or a person wrote; nothing in the file is run.

        Args:
            file: Path that ends in ``.json`` or ``.toml``, which says the format.

        Returns:
            Settings of the class that the file names, which must be this class or a
            subclass of it, and which the program has already defined.

        Raises:
            ArgumentError: The path has another suffix.
            ConfigError: The file is not JSON or TOML (the message names the line), or its
                fields do not fit, as in `from_dict`.
            FileError: The file cannot be read, or (MissingFileError) does not exist.

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
