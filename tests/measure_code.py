"""Measure the size of the source code, and compare it with a budget.

`python tests/measure_code.py` prints every measure. With `--check` the program fails if
a measure is above its budget in `[tool.seqloom.budget]` of pyproject.toml. Lines are
counted after `ruff format` and rustfmt, without docstrings, comments and blank lines.
Generated files count.
"""

import ast
import io
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python/seqloom"
_IGNORED_TOKENS = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
# The four kinds of data, and the classes that depend on a kind.
_DATA_KINDS = {"sequences", "intervals", "genotypes", "embeddings"}
_CLASSES_OF_KINDS = {
    f"{kind}{part}"
    for kind in ("Sequence", "Interval", "Genotype", "Embedding")
    for part in ("Dataset", "Encoder", "Source", "Stream")
}
_ANNOTATION_FIELDS = ("annotation", "returns")
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def measure_python(files: list[Path]) -> Counter[str]:
    """Count lines, statements, names and types of the Python files of one package."""
    trees = {file: ast.parse(file.read_text()) for file in files}
    counts = Counter({"Python files": len(files)})
    for file, tree in trees.items():
        text = file.read_text()
        docstrings = _docstring_lines(tree)
        counts["Python code lines"] += len(_token_lines(text) - docstrings)
        counts["noqa"] += text.count("# noqa")
        counts["pyright: ignore"] += text.count("# pyright: ignore")
        counts += _count_nodes(tree)
    counts["one-use private functions"] = sum(map(_count_one_use, trees.values()))
    counts["modules with one importer, in their folder"] = _count_single_importers(trees)
    counts["deepest inheritance of own classes"] = _deepest_inheritance(trees.values())
    return counts


def _token_lines(text: str) -> set[int]:
    """Return the numbers of the lines with a token that is not a comment."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _IGNORED_TOKENS:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def _docstring_lines(tree: ast.Module) -> set[int]:
    """Return the line numbers of strings that are statements, such as docstrings."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _count_nodes(tree: ast.Module) -> Counter[str]:
    nodes = list(ast.walk(tree))
    annotations = [
        getattr(node, field, None) for node in nodes for field in _ANNOTATION_FIELDS
    ]
    typed = [part for tree in annotations if tree is not None for part in ast.walk(tree)]
    counts = Counter(_class_of(node) for node in nodes)
    counts["object in annotations"] = sum(
        isinstance(part, ast.Name) and part.id == "object" for part in typed
    )
    counts["statements"] = sum(
        isinstance(node, ast.stmt)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in nodes
    )
    del counts[""]
    return counts


def _class_of(node: ast.AST) -> str:
    """Return the measure that counts this node, or an empty string."""
    match node:
        case ast.Call(func=ast.Name(id="cast" | "getattr" | "hasattr" as name)):
            measure = name
        case ast.Name(id="Any"):
            measure = "Any"
        case ast.ClassDef():
            measure = "classes"
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            measure = "functions"
        case _:
            measure = "tests of the kind of data" if _tests_kind(node) else ""
    return measure


def _tests_kind(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, classes]):
            return bool(_names(classes) & _CLASSES_OF_KINDS)
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.In()], comparators=[right]):
            return bool(_strings(right) & _DATA_KINDS)
        case _:
            return False


def _names(tree: ast.AST) -> set[str]:
    """Return the last part of each name in an expression."""
    return {ast.unparse(node).split(".")[-1] for node in ast.walk(tree)}


def _strings(tree: ast.AST) -> set[object]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def _count_one_use(tree: ast.Module) -> int:
    """Count private and nested functions that their file uses only once."""
    uses: Counter[str] = Counter()
    names: set[str] = set()
    for node, nested in _functions(tree, nested=False):
        if (nested or node.name.startswith("_")) and not node.name.endswith("__"):
            names.add(node.name)
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                uses[name] += 1
            case _:
                pass
    return sum(uses[name] == 1 for name in names)


def _functions(tree: ast.AST, *, nested: bool) -> Iterator[tuple[Function, bool]]:
    for child in ast.iter_child_nodes(tree):
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function:
            yield child, nested
        yield from _functions(child, nested=nested or is_function)


def _module_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _count_single_importers(trees: dict[Path, ast.Module]) -> int:
    """Count modules that are imported by only one module, from the same folder."""
    modules = {_module_of(file): file for file in trees}
    importers: dict[str, set[Path]] = {name: set() for name in modules}
    for file, tree in trees.items():
        for node in ast.walk(tree):
            for name in _imported(node) & modules.keys():
                importers[name].add(file)
    return sum(
        len(files) == 1
        and next(iter(files)).parent == modules[name].parent
        and "__init__.py" not in {modules[name].name, next(iter(files)).name}
        for name, files in importers.items()
    )


def _imported(node: ast.AST) -> set[str]:
    match node:
        case ast.Import(names=names):
            return {alias.name for alias in names}
        case ast.ImportFrom(module=str(module), names=names):
            return {module, *(f"{module}.{alias.name}" for alias in names)}
        case _:
            return set()


def _deepest_inheritance(trees: Iterable[ast.Module]) -> int:
    """Return the number of the project's classes in the longest chain of inheritance."""
    bases: dict[str, list[str]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [ast.unparse(base).split("[")[0] for base in node.bases]

    def depth(name: str) -> int:
        return 1 + max(
            (depth(b) for b in bases[name] if b in bases and b != name), default=0
        )

    return max(map(depth, bases))


def measure_rust() -> Counter[str]:
    """Count Rust lines that are neither blank nor comments, separately for tests."""
    counts: Counter[str] = Counter()
    for file in ROOT.glob("crates/*/**/*.rs"):
        in_tests = (
            "tests" in file.parts or file.name == "tests.rs" or "benches" in file.parts
        )
        lines = [line.strip() for line in file.read_text().splitlines()]
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            # A module of tests is the last item of its file.
            in_tests |= line.startswith("#[cfg(test)]") and following.endswith("{")
            if line and not line.startswith("//"):
                counts["Rust test lines" if in_tests else "Rust code lines"] += 1
    return counts


def main() -> int:
    """Print the measures; with `--check` return how many are above their budget."""
    counts = measure_python(sorted(PACKAGE.rglob("*.py"))) + measure_rust()
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    budget: dict[str, int] = settings["tool"]["seqloom"]["budget"]
    if "--check" not in sys.argv:
        for name, count in sorted(counts.items(), key=lambda item: item[0].lower()):
            limit = f" (at most {budget[name]:,})" if name in budget else ""
            print(f"{count:8,}  {name}{limit}")
    exceeded = [name for name, limit in budget.items() if counts[name] > limit]
    for name in exceeded:
        print(f"{name}: {counts[name]:,}; pyproject.toml allows {budget[name]:,}")
    return len(exceeded)


if __name__ == "__main__":
    sys.exit(main())
