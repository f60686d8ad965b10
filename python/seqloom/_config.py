"""Base class of settings, which are frozen dataclasses that are saved as JSON."""

import json
from dataclasses import fields
from typing import Any, ClassVar, Literal, Self, cast, get_args, get_origin, get_type_hints

from seqloom.errors import ConfigError

_JSON_TYPES = (int, float, str, bool, type(None), ...)
# Settings classes by name. A later class replaces an earlier class of the same name, so
# that a notebook cell can run again.
_CLASSES_BY_NAME: dict[str, type[Any]] = {}


class JsonConfig:
    """Base class of settings that are saved as JSON.

    A subclass is a frozen dataclass. The JSON contains the fields, the class name and the
    version of the class's fields. Reading JSON never imports or runs code, so the
    program must define the settings class first.

    Examples:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Window(JsonConfig):
        ...     width: int = 60
        >>> Window(width=80).to_json()
        '{"class": "Window", "version": 1, "width": 80}'
        >>> JsonConfig.from_json('{"class": "Window", "version": 1, "width": 80}')
        Window(width=80)
    """

    version: ClassVar[int] = 1
    encodes: ClassVar[str] = ""  # kind of input that a built-in encoder reads

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _CLASSES_BY_NAME[cls.__name__] = cls

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values, with the class name and version.

        Returns:
            A new dict that ``json.dumps`` accepts.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").to_dict()["class"]
            'OneHot'
        """
        values = {
            field.name: _to_json_value(getattr(self, field.name))
            for field in _list_init_fields(self)
        }
        return {"class": type(self).__name__, "version": self.version, **values}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Create settings from the dict that `to_dict` returned.

        Args:
            values: The fields, with ``class`` and ``version``.

        Returns:
            Settings of the class given in the values: this class or a subclass.

        Raises:
            ConfigError: The settings class is unknown or not a subclass of this class,
                or the values were written by a newer seqloom. A ConfigError is also
                raised if a field is missing, unknown or of the wrong type.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot.from_dict(OneHot("dna").to_dict()) == OneHot("dna")
            True
        """
        found = _find_settings_class(values)
        if not issubclass(found, cls):
            raise ConfigError(
                f"expected settings of {cls.__name__}, found {found.__name__}"
            )
        try:
            return found(**_convert_field_values(found, values))
        except TypeError as error:
            raise ConfigError(f"{found.__name__}: {error}") from None

    def to_json(self) -> str:
        """Return the settings as one line of JSON.

        Returns:
            Text for `from_json`.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("rna").to_json().startswith('{"class": "OneHot"')
            True
        """
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read settings from the JSON that `to_json` wrote.

        Args:
            text: One JSON object.

        Returns:
            Settings of the class given in the JSON.

        Raises:
            ConfigError: The text is not JSON, or the fields are invalid, as in `from_dict`.

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


def convert_fields(config: JsonConfig) -> None:
    """Convert each field to its declared type; called by ``__post_init__``."""
    # Convert lists to tuples and NumPy numbers to Python numbers, so that settings are
    # equal to those that are read from JSON.
    hints = get_type_hints(type(config))
    for field in _list_init_fields(config):
        name = f"{type(config).__name__}.{field.name}"
        value = _convert_to_type(
            name, _to_python_value(getattr(config, field.name)), hints[field.name]
        )
        object.__setattr__(config, field.name, value)


def _to_python_value(value: Any) -> Any:
    """Convert NumPy numbers and arrays to Python values."""
    if isinstance(value, (list, tuple)):
        return [_to_python_value(item) for item in cast("list[Any]", value)]
    return value.tolist() if hasattr(value, "tolist") else value


def _list_init_fields(config: Any) -> list[Any]:
    """Return the fields that the constructor accepts."""
    return [field for field in fields(config) if field.init]


def _to_json_value(value: object) -> Any:
    """Convert nested settings and tuples to JSON values."""
    if isinstance(value, JsonConfig):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_to_json_value(item) for item in cast("list[Any]", value)]
    return value


def _find_settings_class(values: dict[str, Any]) -> type[Any]:
    """Return the settings class for the class name in the values."""
    name = values.get("class")
    if not isinstance(name, str) or name not in _CLASSES_BY_NAME:
        raise ConfigError(
            f"unknown settings class {name!r}; in Python, import the module that defines "
            "it first; commands can use a model that sl.export.save wrote"
        )
    found = _CLASSES_BY_NAME[name]
    version = values.get("version", 1)
    if type(version) is not int:
        raise ConfigError(f"{name}: version must be an integer, got {version!r}")
    if version > found.version:
        raise ConfigError(
            f"{name} was written by a newer seqloom (version {version}, "
            f"this one reads up to {found.version}); upgrade seqloom"
        )
    return found


def _convert_field_values(found: type[Any], values: dict[str, Any]) -> dict[str, Any]:
    """Convert each field to its declared type."""
    given = {
        name: value for name, value in values.items() if name not in {"class", "version"}
    }
    known = {field.name for field in _list_init_fields(found)}
    if unknown := sorted(given.keys() - known):
        raise ConfigError(
            f"{found.__name__} has no field {unknown[0]!r}; its fields: {sorted(known)}"
        )
    hints = get_type_hints(found)
    return {
        name: _convert_to_type(f"{found.__name__}.{name}", value, hints[name])
        for name, value in given.items()
    }


def _is_settings_dict(value: object) -> bool:
    """Return whether a value is a dict that contains nested settings."""
    return isinstance(value, dict) and "class" in value


def _is_plain_type(declared: Any) -> bool:
    """Return whether a type consists only of numbers, strings, and tuples of both."""
    if get_origin(declared) is Literal:
        return True
    parts = get_args(declared) or (declared,)
    return all(
        part in _JSON_TYPES if part is declared else _is_plain_type(part) for part in parts
    )


def _convert_to_type(field: str, value: Any, declared: Any) -> Any:
    """Convert one value to the declared type of its field."""
    import msgspec

    items = _list_items(value)
    holds_configs = any(map(_is_settings_dict, items))
    if (_is_settings_dict(value) or holds_configs) and _is_plain_type(declared):
        raise ConfigError(f"{field}: expected a plain value, got settings")
    if _is_settings_dict(value):
        return JsonConfig.from_dict(value)
    if holds_configs:
        return tuple(_convert_to_type(field, item, JsonConfig) for item in items)
    try:
        _check_encodable(value)
        return msgspec.convert(value, declared)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise ConfigError(f"{field}: {error}") from None


def _list_items(value: object) -> list[Any]:
    """Return the items of a list, or an empty list for other values."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def _check_encodable(value: object) -> None:
    """Check that all text in a value can be encoded; JSON may contain lone surrogates."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, (list, tuple)):
        for item in cast("list[object]", value):
            _check_encodable(item)
