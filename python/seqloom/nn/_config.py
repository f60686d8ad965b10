"""Config: the settings from which a network is built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from seqloom._config import JsonConfig
from seqloom._key import Key

if TYPE_CHECKING:
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
        ... class HeadConfig(sl.nn.Config):
        ...     width: int = 8
        ...
        ...     def build(self):
        ...         return sl.nn.Linear(self.width, 2)
        >>> HeadConfig(width=4).init("numpy", sl.Key(0)).number_of_parameters
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
