"""Data and fixtures of several test modules."""

import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import seqloom as sl

DEMO_FILES = Path(sl.__file__).parent / "_demo"
DNA_ENCODER = sl.encode.OneHot("dna")

# No test fails only because a machine is slow.
settings.register_profile("seqloom", deadline=None)
settings.load_profile("seqloom")

# `make test` runs some cases of a test, and `make soak` the remaining cases. JAX
# compiles each operation for every shape. In backend tests, every seventh case on JAX
# runs. In other tests, no case on JAX runs; if all cases are on JAX, every seventh case
# runs. PyTorch takes seconds to compile a step. Cases with both "torch" and "compiled"
# in their name do not run, except in tests that are marked `sample`. In tests that are
# marked with @pytest.mark.sample(n), every n-th case runs, and the rule for JAX applies
# too. If the command line names a case, these rules do not apply. All strides are odd,
# because an even stride would skip one of two dtypes in each test.
ON_JAX, JAX_STRIDE = re.compile(r"\bjax\b(?!:)"), 7
BACKEND_TEST_PATHS = re.compile("tests/(conformance|promises|tensor)/")
TORCH_COMPILE_TESTS = re.compile(r"(?=.*\bcompiled\b).*\btorch\b(?!:)", re.DOTALL)

# Processes that a shell starts in the background ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the cases that only `make soak` runs."""
    if any("[" in argument for argument in config.args):
        return  # a case named on the command line always runs
    cases = [item for item in items if "callspec" in vars(item)]
    tests = {item: item.nodeid.partition("[")[0] for item in cases}
    on_jax = {item for item in cases if ON_JAX.search(item.callspec.id)}
    others = {item for item in cases if not item.get_closest_marker("soak")} - on_jax
    tests_of_others = {tests[item] for item in others}
    counts = Counter[tuple[str, bool]]()
    for item, test in tests.items():
        if item.get_closest_marker("soak"):
            continue
        sample = item.get_closest_marker("sample")
        stride = sample.args[0] if sample else 1
        key = test, item in on_jax
        if item in on_jax:
            is_other = test in tests_of_others and not BACKEND_TEST_PATHS.search(test)
            is_left = is_other or counts[key] % max(stride, JAX_STRIDE) > 0
        else:
            is_slow = not sample and TORCH_COMPILE_TESTS.match(item.callspec.id)
            is_left = is_slow or counts[key] % stride > 0
        if is_left:
            item.add_marker(pytest.mark.soak)
        counts[key] += 1


def pytest_terminal_summary(terminalreporter, exitstatus):
    """Print an explanation if all selected cases run only in `make soak`."""
    is_empty = exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    if is_empty and terminalreporter.stats.get("deselected"):
        terminalreporter.line("make test leaves these cases to make soak: add -m ''")


@pytest.fixture(scope="module", autouse=True)
def _compiled_programs() -> Iterator[None]:
    """Free JAX programs after each file; compiled programs stay on disk."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()


@pytest.fixture
def toy(tmp_path) -> Callable[..., sl.data.Dataset]:
    """Create small datasets; half of the sequences have TATA in their middle."""

    def make(
        count=48, *, lengths=(20,), name="toy", labels: str | None = "classes", **options
    ):
        records = _records(count, lengths)
        (tmp_path / f"{name}.fa").write_text(
            "".join(f">{key}\n{text}\n" for key, text in records.items())
        )
        every: dict[str, Any] = {"encoder": DNA_ENCODER, **options}
        if labels is not None:
            source = {key: _LABEL_FUNCTIONS[labels](it) for key, it in records.items()}
            every = _with_labels(source, every)
        return sl.data.SequenceDataset(tmp_path / f"{name}.fa", **every)

    return make


def _with_labels(source, options) -> dict[str, Any]:
    """Replace label options by one `Labels` object."""
    of_labels = {"task", "classes", "label_column"} & options.keys()
    if not of_labels:
        return {**options, "labels": source}
    labels = sl.data.Labels(source, **{key: options.pop(key) for key in of_labels})
    return {**options, "labels": labels}


@pytest.fixture
def cohort(tmp_path) -> Callable[..., sl.data.Dataset]:
    """Create small genotype files; the trait is the sum of the first two variants."""

    def make(count=60, *, name="cohort", change=None, **options):
        values, properties = _genotypes(count)
        if change is not None:
            values, properties = change(values, properties)
        path = tmp_path / f"{name}.bed"
        sl.io.to_bed(path, np.ascontiguousarray(values), properties=properties)
        clean = np.where(values < 0, 0, values)[:, :2].sum(axis=1)
        options = {"labels": clean + np.arange(count) / 100, **options}
        return sl.data.GenotypeDataset(path, **_with_labels(options.pop("labels"), options))

    return make


@pytest.fixture(scope="session")
def splice() -> sl.data.Dataset:
    """The training windows of the demo."""
    return sl.data.SequenceDataset(
        DEMO_FILES / "train.fa.gz", labels=DEMO_FILES / "train.tsv", encoder=DNA_ENCODER
    )


@pytest.fixture(scope="session")
def small() -> sl.models.SequenceCNNConfig:
    """A network that trains in milliseconds, for any length."""
    return sl.models.SequenceCNNConfig(channels=4, outputs=2, widths=(8,), kernel_size=5)


_LABEL_FUNCTIONS = {
    "classes": lambda text: "yes" if "TATA" in text else "no",
    "gc": lambda text: (text.count("G") + text.count("C")) / max(len(text), 1),
    "motifs": lambda text: ",".join(motif for motif in ("TATA", "GG") if motif in text),
}


def _genotypes(count, variants=12):
    """Generate genotypes with 5 % missing, and names of variants and alleles."""
    rng = np.random.default_rng(count)
    values = rng.integers(0, 3, (count, variants)).astype(np.int8)
    values[:, 2:][rng.random((count, variants - 2)) < 0.05] = -127
    alleles = np.array([["A", "G"], ["C", "T"], ["T", "TA"]] * variants)[:variants].T
    properties = {
        "sid": [f"rs{number}" for number in range(variants)],
        "allele_1": alleles[0],
        "allele_2": alleles[1],
    }
    return values, properties


def _records(count, lengths):
    """Generate random sequences; every second sequence contains the motif."""
    rng = np.random.default_rng(count)
    records = {}
    for number in range(count):
        length = lengths[number % len(lengths)]
        text = "".join(rng.choice(list("ACGT"), length)).replace("TATA", "TACA")
        middle = length // 2
        with_motif = text[: middle - 2] + "TATA" + text[middle + 2 :]
        records[f"r{number}"] = with_motif if number % 2 else text
    return records
