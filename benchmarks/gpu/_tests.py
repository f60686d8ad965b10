"""Runs the tests that need a GPU, and a fixed sample of the conformance tests."""

import json
import os
import re
import select
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.gpu._pytest_plugin import CHOICE, PIPE
from benchmarks.gpu._results import Result, Results

# Packages that only the tests need.
PACKAGES = (
    "pytest",
    "pytest-xdist",
    "execnet",
    "pluggy",
    "iniconfig",
    "packaging",
    "pygments",
    "hypothesis",
    "sortedcontainers",
    "expecttest",
    "array-api-strict",
    "nvidia-ml-py",
)
REPOSITORY_FOLDER = Path(__file__).parents[2]
RESERVED_SECONDS = 4  # seconds reserved for pytest to end
TEST_SECONDS = {"cuda": 60, "cpu": 90}  # time limit of a test
MAX_LOG_CHARACTERS = 1500  # characters of the log that the summary contains

# Test files in order of importance; other files test_cuda_*.py follow.
FIRST_TEST_FILES = (
    "tests/tensor/backends/test_cuda_attention.py",
    "tests/train/test_cuda_training.py",
    "tests/infer/embedding/test_embed_cuda.py",
    "tests/models/test_cuda_esm2.py",
    "tests/infer/test_cuda_exported.py",
    "tests/tensor/test_cuda_autocast.py",
    "tests/tensor/compile/test_cuda_steps.py",
)
MONITOR_TEST_FILE = "tests/infer/monitor/test_gpu_monitor.py"
CONFORMANCE_TEST_FILES = (
    "tests/conformance/test_torch_samples.py",
    "tests/conformance/test_differences.py",
    "tests/conformance/test_second_order.py",
    "tests/conformance/test_standard.py",
)
# Operations whose gradients are also compared with central differences.
_DIFFERENTIABLE_OPERATION_NAMES = """
    abs exp log log1p sqrt sin tanh erf rsqrt logaddexp maximum pow add subtract multiply
    divide clip where relu sigmoid silu gelu softplus sum mean prod max var std
    cumulative_sum diff logsumexp softmax log_softmax astype reshape permute_dims concat
    stack expand_dims flip roll tile repeat pad matmul tensordot linear feed_forward
    rotary_linear einsum vecdot index take take_along_axis sort topk scatter_add
    slice_update embedding conv1d conv2d conv_transpose1d unfold fold max_pool1d avg_pool1d
    max_pool2d layer_norm rms_norm batch_norm scale_shift attention attention_varlen
    cross_entropy
"""
_OTHER_OPERATION_NAMES = """
    floor round sign isfinite equal less logical_and bitwise_xor argmax any all
    count_nonzero argsort searchsorted nonzero unique_counts one_hot linspace arange
    zeros_like conv1d_weight_grad conv1d_input_grad attention_grad layer_norm_grad
    batch_norm_grad embedding_grad cross_entropy_grad
"""
_WORD_PATTERN = re.compile(r"\w+")
DIFFERENTIABLE_OPERATIONS, OTHER_OPERATIONS = (
    _WORD_PATTERN.findall(_DIFFERENTIABLE_OPERATION_NAMES),
    _WORD_PATTERN.findall(_OTHER_OPERATION_NAMES),
)
ARRAY_API_TEST_NAMES = (
    "test_binary_functions_broadcast_shapes_and_promote_dtypes",
    "test_reductions_have_the_shape_and_dtype_of_the_array_api",
    "test_indexing_selects_the_same_elements_as_numpy",
    "test_concat_and_stack_promote_the_dtypes_of_arrays",
)
NETWORK_OPERATIONS = ("MLP", "convolution", "batch_norm", "attention", "cross_entropy")
# JAX compiles each operation, which is slow, so JAX runs only every second test.
JAX_TEST_INTERVAL = 2
TINY_CASE_COUNT = 6  # parameter sets per test in a tiny run


def run_benchmark(results: Results) -> None:
    """Run the tests; write a result for each, and finally the number of each outcome."""
    choice = choose_tests(results.device, is_tiny=results.is_tiny)
    results.add("conformance sample", cases=len(choice["conformance"]))
    print(*choice["conformance"], sep="\n", flush=True)
    start = time.monotonic()
    with TemporaryDirectory(prefix="seqloom-tests-") as folder:
        log = Path(folder, "log")
        events, pipe = os.pipe()
        with log.open("w") as file:
            process = subprocess.Popen(
                _make_command(results.device, folder, choice["files"]),
                cwd=REPOSITORY_FOLDER,
                env=_make_environment(results, choice, pipe),
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                pass_fds=[pipe],
            )
        os.close(pipe)
        tally = OutcomeCounter(results)
        try:
            has_ended = _read_events(events, tally)
        finally:
            _end_pytest(process, is_late=results.seconds_left() < RESERVED_SECONDS)
            os.close(events)
        tally.add_missing(choice, has_ended=has_ended)
        results.add(
            "summary",
            seconds=round(time.monotonic() - start, 1),
            **tally.count_outcomes(),
            code=process.returncode if process.returncode >= 0 else "killed",
            log=log.read_text(errors="replace")[-MAX_LOG_CHARACTERS:],
        )


def choose_tests(device: str, *, is_tiny: bool) -> dict[str, Any]:
    """Return the test files in order, and the names of the chosen conformance tests."""
    cuda = sorted(
        path.relative_to(REPOSITORY_FOLDER).as_posix()
        for path in (REPOSITORY_FOLDER / "tests").rglob("test_cuda_*.py")
    )
    last = (
        CONFORMANCE_TEST_FILES[:2]
        if is_tiny
        else (MONITOR_TEST_FILE, *CONFORMANCE_TEST_FILES)
    )
    files = dict.fromkeys((*FIRST_TEST_FILES, *cuda, *last))
    torch, jax = f"torch:{device}", f"jax:{device}"
    operations = (*DIFFERENTIABLE_OPERATIONS, *OTHER_OPERATIONS)
    values = "test_values_and_gradients_of_operations_agree_with_torch"
    gradients = "test_gradients_of_operations_equal_central_differences"
    groups = [
        [f"{values}[{torch}-{name}]" for name in operations],
        [f"{values}[{jax}-{name}]" for name in operations[::JAX_TEST_INTERVAL]],
        [f"{gradients}[{torch}-{name}]" for name in DIFFERENTIABLE_OPERATIONS],
        [
            f"test_hessian_vector_products_agree_with_torch[{library}-{network}]"
            for network in NETWORK_OPERATIONS
            for library in (torch, jax)
        ],
        [f"{name}[{torch}]" for name in ARRAY_API_TEST_NAMES],
    ]
    if is_tiny:
        groups = [
            group[:: max(1, len(group) // TINY_CASE_COUNT)][:TINY_CASE_COUNT]
            for group in groups[:3]
        ]
    conformance = [name for group in groups for name in group]
    return {"files": list(files), "conformance": conformance, "is_tiny": is_tiny}


def _make_command(device: str, folder: str, files: list[str]) -> list[str]:
    """Return the pytest command line, with only the needed plugins."""
    command = [sys.executable, "-m", "pytest", *files]
    for plugin in ("no:cacheprovider", "xdist.plugin", "benchmarks.gpu._pytest_plugin"):
        command += ["-p", plugin]
    command += ["-n", "4" if device == "cuda" else "2", "--maxschedchunk", "4"]
    command += ["-q", "-W", "default", "--tb", "short"]
    command += ["--continue-on-collection-errors", "--basetemp", f"{folder}/t"]
    return [*command, "-o", f"faulthandler_timeout={TEST_SECONDS[device]}"]


def _make_environment(
    results: Results, choice: dict[str, Any], pipe: int
) -> dict[str, str]:
    """Return the environment variables of the pytest processes."""
    environment = {
        **os.environ,
        "SEQLOOM_TEST_DEVICE": results.device,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # default: many threads
        "OMP_NUM_THREADS": "4" if results.device == "cuda" else "1",
        PIPE: str(pipe),
        CHOICE: json.dumps(choice),
    }
    if results.device == "cpu":
        environment["JAX_PLATFORMS"] = "cpu"
    return environment


def _read_events(events: int, tally: "OutcomeCounter") -> bool:
    """Count the plugin's events; return False if the time was over before pytest ended."""
    text = b""
    while (seconds := tally.results.seconds_left() - RESERVED_SECONDS) > 0:
        if not select.select([events], [], [], seconds)[0]:
            return False
        if not (piece := os.read(events, 1 << 16)):
            return True
        *lines, text = (text + piece).split(b"\n")
        for line in lines:
            tally.count(json.loads(line))
        if tally.is_complete():
            return True
    return False


def _end_pytest(process: "subprocess.Popen[bytes]", *, is_late: bool) -> None:
    """Wait a few seconds for pytest to end unless the time is over, then kill pytest."""
    if not is_late:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=RESERVED_SECONDS)
    # `_run.py` kills this process group, which contains the workers of pytest-xdist.
    process.kill()
    process.wait()


class OutcomeCounter:
    """Counts the outcomes of tests, and writes each outcome as a result."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self._collected: list[str] = []
        self._running: dict[str, None] = {}
        self._outcomes: dict[str, str] = {}

    def count(self, event: Result) -> None:
        """Count one event of the pytest plugin."""
        kind = event.pop("event")
        if kind == "collected":
            self._collected = event["ids"]
            return
        name = event.pop("name")
        if kind == "started":
            self._running[name] = None
            return
        self._running.pop(name, None)
        self._outcomes[name] = event["outcome"]
        self.results.add(name, **event)

    def is_complete(self) -> bool:
        """Return whether every collected test has ended."""
        return bool(self._collected) and self._outcomes.keys() >= set(self._collected)

    def add_missing(self, choice: dict[str, Any], *, has_ended: bool) -> None:
        """Write the tests that did not end or were not collected, with the reason."""
        if not self._outcomes and not self._running:
            why = "no test ran: see the log of the summary"
            self.results.add("pytest", failed=why)
        for name in self._running:
            why = "pytest ended" if has_ended else "the time was over before it ended"
            self.results.add(name, outcome="unfinished", why=why)
        names = {name.partition("::")[0] for name in (*self._collected, *self._outcomes)}
        names |= {name.partition("::")[2] for name in self._collected}
        for name in (*choice["files"], *choice["conformance"]):
            if name not in names:
                self.results.skip(name, "it was not collected")

    def count_outcomes(self) -> dict[str, int]:
        """Return the number of tests with each outcome."""
        not_run = set(self._collected) - set(self._outcomes) - set(self._running)
        return {
            **dict.fromkeys(("passed", "failed", "skipped"), 0),
            **Counter(self._outcomes.values()),
            "unfinished": len(self._running),
            "not_run": len(not_run),
        }
