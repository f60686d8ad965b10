"""Settings as values: frozen dataclasses that live as JSON beside what they made."""

import json
from dataclasses import fields
from typing import Any, ClassVar, Self, cast, get_type_hints

from seqloom.errors import ConfigError

# The classes that the program has defined, by name; the latest of a name counts, so that a
# notebook cell can be run again.
_known: dict[str, type[Any]] = {}


class Config:
    """Base of settings that are written to and read from JSON.

    A subclass is a frozen dataclass. Its JSON form is its fields, the name of its class
    and the version of its layout; nothing is imported or run when it is read: only a
    class that the program has already defined is found.

    Examples:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Window(Config):
        ...     width: int = 60
        >>> Window(width=80).to_json()
        '{"class": "Window", "version": 1, "width": 80}'
        >>> Config.from_json('{"class": "Window", "version": 1, "width": 80}')
        Window(width=80)
    """

    version: ClassVar[int] = 1

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _known[cls.__name__] = cls

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, with the name and version of the class.

        Returns:
            A new dict that ``json.dumps`` accepts.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").to_dict()["class"]
            'OneHot'
        """
        values = {field.name: _plain(getattr(self, field.name)) for field in _fields(self)}
        return {"class": type(self).__name__, "version": self.version, **values}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Makes the settings that `to_dict` described.

        Args:
            values: The fields, with ``class`` and ``version``.

        Returns:
            Settings of the named class, which must be this class or one below it.

        Raises:
            ConfigError: The class is unknown or another, the version is newer, a field
                is missing, unknown or of the wrong type.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot.from_dict(OneHot("dna").to_dict()) == OneHot("dna")
            True
        """
        found = _find(values)
        if not issubclass(found, cls):
            raise ConfigError(
                f"expected settings of {cls.__name__}, found {found.__name__}"
            )
        try:
            return found(**_typed(found, values))
        except TypeError as error:
            raise ConfigError(f"{found.__name__}: {error}") from None

    def to_json(self) -> str:
        """The settings as one line of JSON.

        Returns:
            The text that `from_json` reads.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("rna").to_json().startswith('{"class": "OneHot"')
            True
        """
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads what `to_json` wrote.

        Args:
            text: One JSON object.

        Returns:
            Settings of the named class.

        Raises:
            ConfigError: The text is not JSON, or as in `from_dict`.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot.from_json(OneHot("rna").to_json()).alphabet
            'rna'
        """
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"the settings are not JSON: {error}") from None
        if not isinstance(values, dict):
            raise ConfigError(f"the settings are not a JSON object: {text[:40]!r}")
        return cls.from_dict(cast("dict[str, Any]", values))


def settle(config: Config) -> None:
    """Gives each field its declared type while the settings are made.

    Lists become tuples and NumPy's numbers Python's, so that settings compare with those
    that are read back from JSON.

    Args:
        config: Settings whose ``__post_init__`` is running.

    Raises:
        ConfigError: A field holds something else than its type.

    Examples:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Sizes(Config):
        ...     widths: tuple[int, ...]
        ...     __post_init__ = settle
        >>> Sizes([8, 16])
        Sizes(widths=(8, 16))
    """
    hints = get_type_hints(type(config))
    for field in _fields(config):
        name = f"{type(config).__name__}.{field.name}"
        value = _convert(name, _bare(getattr(config, field.name)), hints[field.name])
        object.__setattr__(config, field.name, value)


def _bare(value: Any) -> Any:
    """Takes NumPy's numbers and arrays for Python's."""
    if isinstance(value, (list, tuple)):
        return [_bare(item) for item in cast("list[Any]", value)]
    return value.tolist() if hasattr(value, "tolist") else value


def _fields(config: Any) -> list[Any]:
    """The fields that its constructor takes."""
    return [field for field in fields(config) if field.init]


def _plain(value: Any) -> Any:
    """Nested settings and tuples as JSON knows them."""
    if isinstance(value, Config):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value


def _find(values: dict[str, Any]) -> type[Any]:
    """The class that the values name."""
    name = values.get("class")
    if name not in _known:
        raise ConfigError(
            f"no settings class is called {name!r}; import the module that defines it first"
        )
    found = _known[name]
    if values.get("version", 1) > found.version:
        raise ConfigError(
            f"{name} was written by a newer seqloom (layout {values['version']}, "
            f"this one reads up to {found.version}); upgrade seqloom"
        )
    return found


def _typed(found: type[Any], values: dict[str, Any]) -> dict[str, Any]:
    """The fields of `found`, each converted to its declared type."""
    given = {
        name: value for name, value in values.items() if name not in {"class", "version"}
    }
    known = {field.name for field in _fields(found)}
    if unknown := sorted(given.keys() - known):
        raise ConfigError(
            f"{found.__name__} has no field {unknown[0]!r}; its fields: {sorted(known)}"
        )
    hints = get_type_hints(found)
    return {
        name: _convert(f"{found.__name__}.{name}", value, hints[name])
        for name, value in given.items()
    }


def _is_config(value: Any) -> bool:
    """Whether a value is what nested settings became."""
    return isinstance(value, dict) and "class" in value


def _convert(field: str, value: Any, declared: Any) -> Any:
    """One field's value as its declared type."""
    import msgspec

    if _is_config(value):
        return Config.from_dict(value)
    if isinstance(value, list) and any(map(_is_config, cast("list[Any]", value))):
        return tuple(_convert(field, item, Config) for item in cast("list[Any]", value))
    try:
        return msgspec.convert(value, declared)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{field}: {error}") from None
