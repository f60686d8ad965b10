"""Collects every example of the README, the docs and the docstrings as a test."""

import gc
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from math import isclose
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import mkdtemp
from textwrap import dedent
from typing import Any

import pytest
from sybil import Document, Example, Region, Sybil
from sybil.document import PythonDocStringDocument
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser

HOME = Path(__file__).parent
# If the cache of JAX and torch is larger than this at the start, it is emptied.
COMPILED_BYTES = 2**30
# A block of commands: indented lines, of which one calls seqloom.
INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?: {4} *\S.*(?:\n|\Z))+")
COMMAND = re.compile(r"^ {4}(?:.*\| )?seqloom ", re.MULTILINE)
# What blocks made in an empty folder, and what they printed, by their text.
MADE: dict[str, tuple[Path, str]] = {}
# Whether no process of the run has built rayon's global pool.
IS_UNBUILT = pytest.StashKey[bool]()
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# What stands after a block of commands that fails: the error that it prints.
REFUSED = re.compile(r"\s*```output\nerror: ")
# What need not be printed as the page says: processors round sums in other orders.
FREE = re.compile(r"(\.\.\.|\d+\.\d+)")
OFF = {"rel_tol": 0.05, "abs_tol": 0.02}
# Key of the last output. It has spaces, so no variable of an example has this name.
PRINTED = "what was printed"


def enter_scratch(namespace: dict[str, object]) -> None:
    """Gives each document an empty folder of its own."""
    namespace.clear()
    os.chdir(mkdtemp(prefix="seqloom-doc-"))


def enter_page(namespace: dict[str, object]) -> None:
    """Gives each page an empty folder, and nothing that a reader would not have."""
    enter_scratch(namespace)
    namespace["installed"] = _is_installed


class Listening(PythonEvaluator):
    """Runs Python and keeps what it prints."""

    def __call__(self, example: Example) -> None:
        """Runs a block."""
        with redirect_stdout(StringIO()) as printed:
            super().__call__(example)
        example.namespace[PRINTED] = printed.getvalue()


def compare(example: Example) -> str | None:
    """Compares ```output with what was printed."""
    return differing(example.parsed, example.namespace[PRINTED])


def differing(wanted: str, printed: str) -> str | None:
    """Says how texts differ, or None; `...` is anything, and decimals are about right."""
    parts = FREE.split(tidy(wanted))
    decimals = [part for part in parts[1::2] if part != "..."]
    parts[1::2] = [".*?" if part == "..." else r"(\d+\.\d+)" for part in parts[1::2]]
    parts[::2] = [re.escape(part) for part in parts[::2]]
    found = re.fullmatch("".join(parts), tidy(printed), re.DOTALL)
    pairs = zip(decimals, found.groups(), strict=True) if found else [("nan", "0")]
    if all(isclose(float(one), float(other), **OFF) for one, other in pairs):
        return None
    return f"the page says:\n{wanted}\nprinted was:\n{printed}"


def tidy(text: str) -> str:
    """Leaves out the blanks at ends of lines, and what stands around the text."""
    return dedent("\n".join(line.rstrip() for line in text.splitlines()).strip("\n"))


def find_commands(document: Document) -> Iterator[Region]:
    """Finds what a reader types into a shell."""
    fences = [match.span() for match in FENCED.finditer(document.text)]
    for block in INDENTED.finditer(document.text):
        is_fenced = any(start <= block.start() < end for start, end in fences)
        if COMMAND.search(block[0]) and not is_fenced:
            refused = REFUSED.match(document.text, block.end())
            parsed = (dedent(block[0]), refused is not None)
            yield Region(block.start(), block.end(), parsed, type_commands)


def type_commands(example: Example) -> None:
    """Types a block, and keeps what it prints: where it is refused, the error."""
    script, refused = example.parsed
    printed = run_commands(script, code=2).stderr if refused else printed_by(script)
    example.namespace[PRINTED] = printed


def printed_by(script: str) -> str:
    """Types a block; what it made in an empty folder once, it would make there again."""
    if any(Path().iterdir()):
        return run_commands(script).stdout
    if script in MADE:
        copytree(MADE[script][0], ".", dirs_exist_ok=True)
    else:
        MADE[script] = (Path(mkdtemp(prefix="seqloom-made-")), run_commands(script).stdout)
        copytree(".", MADE[script][0], dirs_exist_ok=True)
    return MADE[script][1]


def run_commands(script: str, *, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs a block in bash, which ends with the code that the page expects."""
    script = "set -o pipefail\n" + script
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(  # noqa: S603 - our own pages
        ["bash", "-e", "-c", script],  # noqa: S607 - as the reader has it
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != code:
        said = f"{script}\n{done.stdout}\n{done.stderr}"
        pytest.fail(f"{said}\nended with {done.returncode}, not {code}", pytrace=False)
    return done


def _is_installed(library: str) -> bool:
    """What a page asks before an example that needs an optional library."""
    return find_spec(library) is not None


def leave_scratch(_: dict[str, object]) -> None:
    """Goes back, so that pytest finds its files, and leaves nothing behind."""
    scratch = Path.cwd()
    os.chdir(HOME)
    if scratch.name.startswith("seqloom-doc-"):
        rmtree(scratch)


markdown = Sybil(
    parsers=[
        CodeBlockParser("python", Listening()),
        CodeBlockParser("output", compare),
        SkipParser(),
        find_commands,
    ],
    patterns=["*.md"],
    excludes=["docs/notebooks/*"],  # written from notebooks, which `make docs` executes
    setup=enter_page,
    teardown=leave_scratch,
)
docstrings = Sybil(
    parsers=[DocTestParser()],
    patterns=["*.py"],
    excludes=["conftest.py", "test_*.py", "tests/**", "benchmarks/**"],
    document_types={".py": PythonDocStringDocument},
    setup=enter_scratch,
    teardown=leave_scratch,
)
pytest_collect_file = (markdown + docstrings).pytest()


def skip_wait(file: Any) -> None:
    """Stands in for the wait for the disk; as there, a closed file is an error."""
    os.fstat(file if isinstance(file, int) else file.fileno())


def pytest_configure(config: pytest.Config) -> None:
    """Lets JAX and torch keep what they compile until pytest --cache-clear.

    Nothing in this process waits for the disk: a write would take milliseconds, and no test
    cuts the power. Processes that tests start do wait.
    """
    os.fsync = os.fdatasync = skip_wait
    cache = getattr(config, "cache", None)  # -p no:cacheprovider
    if cache is None or hasattr(config, "workerinput"):  # a worker has our environment
        return
    folder = cache.mkdir("compiled")
    if sum(path.stat().st_size for path in folder.rglob("*")) > COMPILED_BYTES:
        rmtree(folder)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder / "jax")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "torch")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs pages first: started last, one slow page would keep the run from ending."""
    items.sort(key=lambda item: item.path.suffix != ".md")


def pytest_collection_finish() -> None:
    """Lets the garbage collector pass over the objects of torch, JAX and pytest."""
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Removes what pages made, and fails a run that built rayon's global pool."""
    gc.unfreeze()  # JAX's bindings complain about objects that remain at the end
    for made, _ in MADE.values():
        rmtree(made, ignore_errors=True)
    is_unbuilt = import_module("seqloom._rust._native").claim_global_pool()
    output = getattr(session.config, "workeroutput", None)
    if output is not None:  # a worker of xdist reports to the main process
        output["is_unbuilt"] = is_unbuilt
    elif not (is_unbuilt and session.config.stash.get(IS_UNBUILT, True)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        terminal = session.config.get_terminal_writer()
        terminal.line(
            "\nFAILED: code in Rust used rayon's global pool, which breaks in a forked "
            "process; call pool::run instead (crates/seqloom-py/src/pool.rs)"
        )


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Notes whether a process of xdist's built rayon's global pool, which nobody owns."""
    if not getattr(node, "workeroutput", {}).get("is_unbuilt", True):
        node.config.stash[IS_UNBUILT] = False
