"""The source itself: what a reader can rely on in every file."""

from typing import Any

import grimp


def circles_of(imports: dict[str, set[str]]) -> list[str]:
    """The modules of import circles, and those between two circles."""
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


def test_a_circle_is_found():
    imports = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set[str]()}
    assert circles_of(imports) == ["a", "b", "c"]


def test_no_modules_import_each_other_in_a_circle():
    graph: Any = grimp.build_graph("seqloom", cache_dir=None)
    imports = {
        module: set(graph.find_modules_directly_imported_by(module))
        for module in graph.modules
    }
    assert circles_of(imports) == []
