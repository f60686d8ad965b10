"""Tests of settings in JSON and TOML files: nested, missing and invalid settings."""

import json
import math
import tomllib
from dataclasses import dataclass

import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, ConfigError, FileError, MissingFileError


@dataclass(frozen=True)
class InnerConfig(sl.nn.Config):
    width: int = 3
    note: str | None = None

    def build(self):
        return sl.nn.Linear(self.width, 1)


@dataclass(frozen=True)
class OuterConfig(sl.nn.Config):
    rate: float = 0.1
    sizes: tuple[int, ...] = (1, 2)
    inner: InnerConfig = InnerConfig()
    blocks: tuple[InnerConfig, ...] = ()
    limit: float | None = None
    depth: int | None = 4
    text: str = 'a "quoted" line\n#1 ü'

    def build(self):
        return self.inner.build()


FULL_CONFIG = OuterConfig(
    rate=math.inf,
    sizes=(),
    inner=InnerConfig(7, "x"),
    blocks=(InnerConfig(1), InnerConfig(2)),
    limit=1.0,
)


@pytest.mark.parametrize("suffix", [".json", ".toml", ".TOML"])
@pytest.mark.parametrize("config", [OuterConfig(), FULL_CONFIG], ids=["defaults", "full"])
def test_settings_survive_a_round_trip_through_a_file(tmp_path, suffix, config):
    file = tmp_path / f"net{suffix}"
    config.save(file)
    assert sl.nn.Config.load(file) == OuterConfig.load(str(file)) == config
    assert list(tmp_path.iterdir()) == [file]


def test_settings_files_are_plain_json_and_toml(tmp_path):
    for parse, name in ((json.loads, "a.json"), (tomllib.loads, "a.toml")):
        FULL_CONFIG.save(tmp_path / name)
        values = parse((tmp_path / name).read_text())
        assert values["inner"] == {
            "class": "InnerConfig",
            "version": 1,
            "width": 7,
            "note": "x",
        }


def test_toml_omits_none_only_if_it_is_the_default(tmp_path):
    OuterConfig().save(tmp_path / "a.toml")
    assert "limit" not in tomllib.loads((tmp_path / "a.toml").read_text())
    config = OuterConfig(depth=None)
    with pytest.raises(ConfigError, match=r"OuterConfig\.depth is None.*\.json"):
        config.save(tmp_path / "b.toml")
    assert not (tmp_path / "b.toml").exists()
    config.save(tmp_path / "b.json")
    assert OuterConfig.load(tmp_path / "b.json") == config


INVALID_FILES = {
    "a.toml": ('class = "OuterConfig"\nrate = = 2\n', r"a\.toml: .* not TOML.*line 2"),
    "b.json": ('{"class":\n "OuterConfig",,}', r"b\.json: .* not JSON.*line 2"),
    "c.json": ("[1]", r"c\.json: .* not a JSON object"),
    "d.toml": ('class = "Nobody"', r"d\.toml: unknown settings class 'Nobody'"),
    "e.toml": ('class = "OuterConfig"\nrate = "x"', r"e\.toml: OuterConfig\.rate"),
    "f.toml": ("rate = 1.0", r"f\.toml: unknown settings class None"),
    "g.toml": (b"\xff", r"g\.toml: .* not TOML.*utf-8"),
    "h.toml": ('class = "InnerConfig"', r"h\.toml: expected settings of OuterConfig"),
}


@pytest.mark.parametrize("name", INVALID_FILES)
def test_an_invalid_settings_file_is_named_with_the_location(tmp_path, name):
    text, message = INVALID_FILES[name]
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=message):
        OuterConfig.load(tmp_path / name)


def test_missing_settings_files_and_unknown_suffixes_raise(tmp_path):
    with pytest.raises(MissingFileError, match=r"none\.toml: no such file"):
        OuterConfig.load(tmp_path / "none.toml")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(FileError, match=r"folder\.json: cannot be read"):
        OuterConfig.load(tmp_path / "folder.json")
    for name in ("net.yaml", "net"):
        with pytest.raises(ArgumentError, match=r"must end in \.json or \.toml"):
            OuterConfig().save(tmp_path / name)
        with pytest.raises(ArgumentError, match=r"must end in \.json or \.toml"):
            OuterConfig.load(tmp_path / name)


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "net.toml"
    OuterConfig().save(file)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", fail)
    with pytest.raises((FileError, OSError)):
        FULL_CONFIG.save(file)
    assert OuterConfig.load(file) == OuterConfig()
