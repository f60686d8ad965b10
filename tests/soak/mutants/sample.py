"""Changes Python's source in one place at a time, and counts which changes a test notices.

    PYTHONPATH=target/mutants/tree/python python -m tests.soak.mutants.sample target/mutants

It works in the copy of the source that check-mutants made.
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

HERE = Path(__file__).parent
# An operator in place of another: those alone that a person could confuse. The others, such
# as a number that is shifted by a text, end in a TypeError, which any test would notice.
CONFUSED = """
    Add_Sub Sub_Add Mul_FloorDiv FloorDiv_Mul Div_Mul Mod_FloorDiv
    BitAnd_BitOr BitOr_BitAnd BitXor_BitOr LShift_RShift RShift_LShift
    Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is Lt_LtE LtE_Lt Gt_GtE GtE_Gt Lt_Gt Gt_Lt
    Delete_Not USub_UAdd Invert_UAdd
"""
LONGEST = 300  # seconds, behind which a change counts as noticed


def main() -> None:
    """Try the packages that are named, or all."""
    home, *names = sys.argv[1:]
    packages = tomllib.loads((HERE / "packages.toml").read_text("utf-8"))
    for name, package in packages.items():
        if not names or name in names:
            _try_package(Path(home), name, **package)


def _try_package(home: Path, name: str, *, files: list[str], tests: list[str]) -> None:
    """Keeps, of each change of the sample, what differs where no test noticed it."""
    kept = home / f"{name}.json"
    with chdir(home / "tree"):
        changes = [
            change for each in files for path in Path().glob(each) for change in _list(path)
        ]
        drawn = {_name(change): change for change in _draw(changes)}
        before = json.loads(kept.read_text("utf-8"))["tried"] if kept.exists() else {}
        known = {key: outcome for key, outcome in before.items() if key in drawn}
        for number, (key, change) in enumerate(drawn.items(), 1):
            if known.get(key, "untried"):
                known[key] = _try(change, tests)
                kept.write_text(json.dumps({"all": len(changes), "tried": known}), "utf-8")
            outcome = known[key] or "noticed"
            print(f"{name} {number}/{len(drawn)} {key}: {outcome}", flush=True)


def _name(change: MutationSpec) -> str:
    """Name a change; a file that was edited has other changes."""
    content = hashlib.blake2b(change.module_path.read_bytes(), digest_size=4).hexdigest()
    return f"{change.module_path} {content} {change.operator_name} {change.occurrence}"


def _list(path: Path) -> Iterator[MutationSpec]:
    """List the changes of a file that a run could notice: not those of types."""
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
    """Tell whether a person could have written this by mistake."""
    _, another, pair = re.split(r"/(Replace\w+Operator_)?", name)
    return not another or pair in CONFUSED.split()


def _find_types(path: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Find where types stand, which nothing reads when the program runs."""
    found: list[ast.expr | ast.stmt | None] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node.returns)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found.append(node)
    return [
        ((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0))
        for one in found
        if one
    ]


def _draw(changes: list[MutationSpec]) -> list[MutationSpec]:
    """Draw places in the code, and one change for each, the same in each run."""
    places: dict[tuple[str, tuple[int, int]], list[MutationSpec]] = {}
    for change in changes:
        places.setdefault((str(change.module_path), change.start_pos), []).append(change)
    chance = random.Random(2026)  # noqa: S311  # a sample
    size = min(int(os.environ.get("MUTANTS_EACH", "30")), len(places))
    return [chance.choice(places[place]) for place in chance.sample(sorted(places), size)]


def _try(change: MutationSpec, tests: list[str]) -> str:
    """Run the tests with one change: what differs if all of them pass, else nothing."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    result = mutate_and_test([change], " ".join(command), LONGEST)
    return (result.diff or "") if result.test_outcome == TestOutcome.SURVIVED else ""


if __name__ == "__main__":
    main()
