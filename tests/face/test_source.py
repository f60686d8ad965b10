"""Rules for the source code."""

import tomllib
from pathlib import Path
from typing import Any

import grimp

REPOSITORY = Path(__file__).parents[2]


def circles_of(imports: dict[str, set[str]]) -> list[str]:
    """Return the modules in import cycles, and the modules between two cycles."""
    left = dict(imports)
    while True:
        imported = {name for names in left.values() for name in names}
        kept = {
            module: names & left.keys()
            for module, names in left.items()
            if names & left.keys() and module in imported
        }
        if kept.keys() == left.keys():
            return sorted(kept)
        left = kept


def test_an_import_cycle_is_detected():
    imports = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set[str]()}
    assert circles_of(imports) == ["a", "b", "c"]


def test_seqloom_modules_have_no_import_cycles():
    graph: Any = grimp.build_graph("seqloom", cache_dir=None)
    imports = {
        module: set(graph.find_modules_directly_imported_by(module))
        for module in graph.modules
    }
    assert circles_of(imports) == []


def test_each_rust_crate_is_tested_with_overflow_checks():
    profile = tomllib.loads((REPOSITORY / "Cargo.toml").read_text("utf-8"))["profile"][
        "bench"
    ]
    crates = {path.name for path in (REPOSITORY / "crates").iterdir()}
    # The crate of macros runs in the compiler, where these checks are not needed.
    assert set(profile["package"]) == crates - {"seqloom-macros"}
    for settings in profile["package"].values():
        assert settings["debug-assertions"]
        assert settings["overflow-checks"]
