"""Collects every example of the README, the docs and the docstrings as a test."""

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import copy, copytree, rmtree
from tempfile import mkdtemp

import pytest
from sybil import Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser

HOME = Path(__file__).parent
DEMO = HOME / "python/seqloom/_demo"
GENOTYPES = HOME / "python/seqloom/_demo/genotypes"


def enter_scratch(namespace: dict[str, object]) -> None:
    """Gives each document an empty folder of its own."""
    namespace.clear()
    os.chdir(mkdtemp(prefix="seqloom-doc-"))


def enter_demo(namespace: dict[str, object]) -> None:
    """Gives each page a folder that holds the files its examples read."""
    enter_scratch(namespace)
    namespace["installed"] = _is_installed
    for name in ("train.fa.gz", "train.tsv", "test.fa.gz", "test.tsv"):
        copy(DEMO / name, name)
    copy("test.fa.gz", "new.fa.gz")
    copytree(GENOTYPES, "examples/data/genotypes")


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
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["*.md"],
    setup=enter_demo,
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


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails a run in which anything built rayon's global pool, which nobody owns."""
    native = import_module("seqloom._rust._native")
    if not native.claim_global_pool():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        terminal = session.config.get_terminal_writer()
        terminal.line("\nFAILED: rayon's global pool was built; see seqloom-py/src/pool.rs")
