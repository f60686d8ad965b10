"""Collect every example of the README, the docs and the docstrings as a test."""

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
# Maximum size of the compilation cache of JAX and PyTorch at the start, in bytes.
COMPILED_BYTES = 2**30
# A block of commands: indented lines, with at least one call of seqloom.
INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?: {4} *\S.*(?:\n|\Z))+")
COMMAND = re.compile(r"^ {4}(?:.*\| )?seqloom ", re.MULTILINE)
# Folder and output of blocks that ran in an empty folder, by their text.
RESULTS: dict[str, tuple[Path, str]] = {}
# True if no process of the test run has created rayon's global pool.
IS_UNBUILT = pytest.StashKey[bool]()
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# Output after a failing block of commands: the error message.
EXPECTED_ERROR = re.compile(r"\s*```output\nerror: ")
# Output that may differ from the page: `...`, and decimals, which vary by processor.
VARIABLE_OUTPUT = re.compile(r"(\.\.\.|\d+\.\d+)")
TOLERANCE = {"rel_tol": 0.05, "abs_tol": 0.02}
# Key of the last output. It contains spaces, so no example has a variable of this name.
PRINTED = "what was printed"


def enter_scratch(namespace: dict[str, object]) -> None:
    """Run each document in a new empty folder."""
    namespace.clear()
    os.chdir(mkdtemp(prefix="seqloom-doc-"))


def enter_page(namespace: dict[str, object]) -> None:
    """Run each page in an empty folder, without names that readers do not have."""
    enter_scratch(namespace)
    namespace["installed"] = _is_installed


class RecordingEvaluator(PythonEvaluator):
    """Runs Python and stores its output."""

    def __call__(self, example: Example) -> None:
        """Run a block."""
        with redirect_stdout(StringIO()) as printed:
            super().__call__(example)
        example.namespace[PRINTED] = printed.getvalue()


def compare(example: Example) -> str | None:
    """Compare an output block with the printed output."""
    return find_difference(example.parsed, example.namespace[PRINTED])


def find_difference(wanted: str, printed: str) -> str | None:
    """Return the difference or None; `...` matches anything, decimals are approximate."""
    parts = VARIABLE_OUTPUT.split(strip_spaces(wanted))
    decimals = [part for part in parts[1::2] if part != "..."]
    parts[1::2] = [".*?" if part == "..." else r"(\d+\.\d+)" for part in parts[1::2]]
    parts[::2] = [re.escape(part) for part in parts[::2]]
    found = re.fullmatch("".join(parts), strip_spaces(printed), re.DOTALL)
    pairs = zip(decimals, found.groups(), strict=True) if found else [("nan", "0")]
    if all(isclose(float(one), float(other), **TOLERANCE) for one, other in pairs):
        return None
    return f"the page says:\n{wanted}\nprinted was:\n{printed}"


def strip_spaces(text: str) -> str:
    """Strip trailing spaces of lines, and space around the text."""
    return dedent("\n".join(line.rstrip() for line in text.splitlines()).strip("\n"))


def find_commands(document: Document) -> Iterator[Region]:
    """Find commands that a reader types into a shell."""
    fences = [match.span() for match in FENCED.finditer(document.text)]
    for block in INDENTED.finditer(document.text):
        is_fenced = any(start <= block.start() < end for start, end in fences)
        if COMMAND.search(block[0]) and not is_fenced:
            refused = EXPECTED_ERROR.match(document.text, block.end())
            parsed = (dedent(block[0]), refused is not None)
            yield Region(block.start(), block.end(), parsed, type_commands)


def type_commands(example: Example) -> None:
    """Run a block, and store its output, or its error if it fails."""
    script, refused = example.parsed
    printed = run_commands(script, code=2).stderr if refused else printed_by(script)
    example.namespace[PRINTED] = printed


def printed_by(script: str) -> str:
    """Run a block; reuse the result of an equal block that ran in an empty folder."""
    if any(Path().iterdir()):
        return run_commands(script).stdout
    if script in RESULTS:
        copytree(RESULTS[script][0], ".", dirs_exist_ok=True)
    else:
        RESULTS[script] = (
            Path(mkdtemp(prefix="seqloom-made-")),
            run_commands(script).stdout,
        )
        copytree(".", RESULTS[script][0], dirs_exist_ok=True)
    return RESULTS[script][1]


def run_commands(script: str, *, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a block in bash, which must exit with the expected code."""
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
    """Return whether a library is installed, for pages with optional examples."""
    return find_spec(library) is not None


def leave_scratch(_: dict[str, object]) -> None:
    """Change back to the test folder, and remove the files of the document."""
    scratch = Path.cwd()
    os.chdir(HOME)
    if scratch.name.startswith("seqloom-doc-"):
        rmtree(scratch)


markdown = Sybil(
    parsers=[
        CodeBlockParser("python", RecordingEvaluator()),
        CodeBlockParser("output", compare),
        SkipParser(),
        find_commands,
    ],
    patterns=["*.md"],
    excludes=["docs/notebooks/*"],  # generated from notebooks by `make docs`
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
    """Replace fsync; a closed file is still an error."""
    os.fstat(file if isinstance(file, int) else file.fileno())


def pytest_configure(config: pytest.Config) -> None:
    """Cache compiled programs of JAX and PyTorch until pytest --cache-clear.

    fsync is replaced in this process: it would take milliseconds, and no test cuts the
    power. Processes that tests start do sync.
    """
    os.fsync = os.fdatasync = skip_wait
    cache = getattr(config, "cache", None)  # -p no:cacheprovider
    if cache is None or hasattr(config, "workerinput"):  # a worker inherits the environment
        return
    folder = cache.mkdir("compiled")
    if sum(path.stat().st_size for path in folder.rglob("*")) > COMPILED_BYTES:
        rmtree(folder)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder / "jax")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "torch")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run pages first: a slow page that starts last would delay the end of the run."""
    items.sort(key=lambda item: item.path.suffix != ".md")


def pytest_collection_finish() -> None:
    """Freeze the objects of PyTorch, JAX and pytest for the garbage collector."""
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove files of pages, and fail a run that created rayon's global pool."""
    gc.unfreeze()  # JAX's bindings warn about objects that remain
    for made, _ in RESULTS.values():
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
    """Record whether a worker process has created rayon's global pool."""
    if not getattr(node, "workeroutput", {}).get("is_unbuilt", True):
        node.config.stash[IS_UNBUILT] = False
