"""Mutation tests of Python code: apply single changes, and count those that tests detect.

    PYTHONPATH=target/mutants/tree/python python -m tests.soak.mutants.sample target/mutants

The script changes the copy of the source that check-mutants creates.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import random
import re
import sys
import tomllib
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_item import MutationSpec, TestOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator

MUTANTS_FOLDER = Path(__file__).parent
# Replacements of operators that a programmer could confuse. Other replacements, such as a
# shift by a string, raise a TypeError that any test would detect.
CONFUSABLE_OPERATORS = """
    Add_Sub Sub_Add Mul_FloorDiv FloorDiv_Mul Div_Mul Mod_FloorDiv
    BitAnd_BitOr BitOr_BitAnd BitXor_BitOr LShift_RShift RShift_LShift
    Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is Lt_LtE LtE_Lt Gt_GtE GtE_Gt Lt_Gt Gt_Lt
    Delete_Not USub_UAdd Invert_UAdd
"""
MAX_TEST_SECONDS = 300  # a change is detected if its tests take longer


def main() -> None:
    """Test changes of the packages on the command line, or of all packages."""
    home, *names = sys.argv[1:]
    packages = tomllib.loads((MUTANTS_FOLDER / "packages.toml").read_text("utf-8"))
    for name, package in packages.items():
        if not names or name in names:
            _try_package(Path(home), name, **package)


def _try_package(home: Path, name: str, *, files: list[str], tests: list[str]) -> None:
    """Store the diff of each undetected change, and "" for each detected change."""
    results = home / f"{name}.json"
    with chdir(home / "tree"):
        changes = [
            change for each in files for path in Path().glob(each) for change in _list(path)
        ]
        drawn = {_name(change): change for change in _draw(changes)}
        before = json.loads(results.read_text("utf-8"))["tried"] if results.exists() else {}
        outcomes = {key: outcome for key, outcome in before.items() if key in drawn}
        for number, (key, change) in enumerate(drawn.items(), 1):
            if outcomes.get(key, "untried"):
                outcomes[key] = _try(change, tests)
                results.write_text(
                    json.dumps({"all": len(changes), "tried": outcomes}), "utf-8"
                )
            outcome = outcomes[key] or "detected"
            print(f"{name} {number}/{len(drawn)} {key}: {outcome}", flush=True)


def _name(change: MutationSpec) -> str:
    """Return an identifier of a change, which depends on the content of its file."""
    content = hashlib.blake2b(change.module_path.read_bytes(), digest_size=4).hexdigest()
    return f"{change.module_path} {content} {change.operator_name} {change.occurrence}"


def _list(path: Path) -> Iterator[MutationSpec]:
    """Return the possible changes of a file, without changes of type annotations."""
    tree = get_ast_from_path(path)
    types = _find_types(path)
    for name in cosmic_ray.plugins.operator_names():
        operator = cosmic_ray.plugins.get_operator(name)
        if operator.arguments() or not _is_plausible(name):
            continue
        places = (
            place
            for node in ast_nodes(tree)
            for place in operator().mutation_positions(node)
        )
        for occurrence, (start, end) in enumerate(places):
            if not any(first <= start < last for first, last in types):
                yield MutationSpec(str(path), name, occurrence, start, end)


def _is_plausible(name: str) -> bool:
    """Return whether a programmer could make this change by mistake."""
    _, another, pair = re.split(r"/(Replace\w+Operator_)?", name)
    return not another or pair in CONFUSABLE_OPERATORS.split()


def _find_types(path: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the (start, end) of all type annotations, which have no effect at run time."""
    annotations: list[ast.expr | ast.stmt | None] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            annotations.append(node.returns)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            annotations.append(node.annotation)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            annotations.append(node)
    return [
        ((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0))
        for one in annotations
        if one
    ]


def _draw(changes: list[MutationSpec]) -> list[MutationSpec]:
    """Sample positions in the code with a fixed seed, and one change for each position."""
    places: dict[tuple[str, tuple[int, int]], list[MutationSpec]] = {}
    for change in changes:
        places.setdefault((str(change.module_path), change.start_pos), []).append(change)
    chance = random.Random(2026)  # noqa: S311  # a sample
    size = min(int(os.environ.get("MUTANTS_EACH", "30")), len(places))
    return [chance.choice(places[place]) for place in chance.sample(sorted(places), size)]


def _try(change: MutationSpec, tests: list[str]) -> str:
    """Run the tests with one change; return the diff if all tests pass, otherwise ""."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    result = mutate_and_test([change], " ".join(command), MAX_TEST_SECONDS)
    return (result.diff or "") if result.test_outcome == TestOutcome.SURVIVED else ""


if __name__ == "__main__":
    main()
