"""The tests that need a card, and a fixed sample of conformance on it."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.gpu._pytest_plugin import CHOICE, PIPE
from benchmarks.gpu._results import Results

# The distributions that the tests need besides those of the library and of the machine.
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
ROOT = Path(__file__).parents[2]
RESERVE = 4  # seconds for ending what still runs
HANG = {"cuda": 60, "cpu": 90}  # seconds after which a test's process is ended

# The most general use first; every other file of this kind follows, then conformance.
FIRST = (
    "tests/tensor/backends/test_cuda_attention.py",
    "tests/train/test_cuda_training.py",
    "tests/infer/embedding/test_embed_cuda.py",
    "tests/models/test_cuda_esm2.py",
    "tests/infer/test_cuda_exported.py",
    "tests/tensor/test_cuda_autocast.py",
    "tests/tensor/compile/test_cuda_steps.py",
)
ALSO = ("tests/infer/monitor/test_gpu_monitor.py",)
CONFORMANCE = (
    "tests/conformance/test_torch_samples.py",
    "tests/conformance/test_differences.py",
    "tests/conformance/test_second_order.py",
    "tests/conformance/test_standard.py",
)
# Operations whose gradient is compared with central differences too.
_SMOOTH = """
    abs exp log log1p sqrt sin tanh erf rsqrt logaddexp maximum pow add subtract multiply
    divide clip where relu sigmoid silu gelu softplus sum mean prod max var std
    cumulative_sum diff logsumexp softmax log_softmax astype reshape permute_dims concat
    stack expand_dims flip roll tile repeat pad matmul tensordot linear feed_forward
    rotary_linear einsum vecdot index take take_along_axis sort topk scatter_add
    slice_update embedding conv1d conv2d conv_transpose1d unfold fold max_pool1d avg_pool1d
    max_pool2d layer_norm rms_norm batch_norm scale_shift attention attention_varlen
    cross_entropy
"""
_OTHERS = """
    floor round sign isfinite equal less logical_and bitwise_xor argmax any all
    count_nonzero argsort searchsorted nonzero unique_counts one_hot linspace arange
    zeros_like conv1d_weight_grad conv1d_input_grad attention_grad layer_norm_grad
    batch_norm_grad embedding_grad cross_entropy_grad
"""
_NAMES = re.compile(r"\w+")
SMOOTH, OTHERS = _NAMES.findall(_SMOOTH), _NAMES.findall(_OTHERS)
NETWORKS = ("MLP", "convolution", "batch_norm", "attention", "cross_entropy")
# JAX compiles a program for each operation and shape, so it has fewer cases.
EVERY_JAX = 2
TINY = 6  # cases of each kind


def run(results: Results) -> None:
    """Runs the tests: a result for each, and the numbers of outcomes at the end."""
    choice = choose(results.device, is_tiny=results.is_tiny)
    results.add("conformance sample", cases=len(choice["conformance"]))
    print(*choice["conformance"], sep="\n", flush=True)
    start = time.monotonic()
    with TemporaryDirectory(prefix="seqloom-tests-") as folder:
        log = Path(folder, "log")
        listening, pipe = os.pipe()
        with log.open("w") as file:
            process = subprocess.Popen(
                _command(results.device, folder, choice["files"]),
                cwd=ROOT,
                env=_environment(results, choice, pipe),
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                pass_fds=[pipe],
                start_new_session=True,
            )
        os.close(pipe)
        tally = Tally(results)
        try:
            is_whole = _follow(listening, tally)
        finally:
            _end(process, is_killed=results.seconds_left() < RESERVE)
            os.close(listening)
        tally.sum_up(choice, is_whole=is_whole)
        seconds = round(time.monotonic() - start, 1)
        code = process.returncode if process.returncode >= 0 else "killed"
        end = {"code": code, "log": log.read_text(errors="replace")[-1500:]}
        results.add("summary", seconds=seconds, **tally.facts(), **end)


def choose(device: str, *, is_tiny: bool) -> dict[str, Any]:
    """The files in their order, and the names of the cases of conformance."""
    others = sorted(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_cuda_*.py")
    )
    last = CONFORMANCE[:2] if is_tiny else (*ALSO, *CONFORMANCE)
    files = dict.fromkeys((*FIRST, *others, *last))
    torch, jax = f"torch:{device}", f"jax:{device}"
    values, slopes = "test_computes_and_differentiates_as_torch", "test_gradients_equal"
    slopes += "_central_differences"
    kinds = [
        [f"{values}[{torch}-{name}]" for name in (*SMOOTH, *OTHERS)],
        [f"{values}[{jax}-{name}]" for name in (*SMOOTH, *OTHERS)[::EVERY_JAX]],
        [f"{slopes}[{torch}-{name}]" for name in SMOOTH],
        [
            f"test_hessian_vector_products_are_torchs[{library}-{name}]"
            for name in NETWORKS
            for library in (torch, jax)
        ],
        [
            f"{name}[{torch}]"
            for name in (
                "test_two_arrays_broadcast_and_promote",
                "test_sums_over_axes_have_the_standards_shape_and_type",
                "test_indexing_selects_what_numpy_selects",
                "test_joining_promotes",
            )
        ],
    ]
    if is_tiny:
        kinds = [kind[:: max(1, len(kind) // TINY)][:TINY] for kind in kinds[:3]]
    conformance = [name for kind in kinds for name in kind]
    return {"files": list(files), "conformance": conformance, "is_tiny": is_tiny}


def _command(device: str, folder: str, files: list[str]) -> list[str]:
    """Pytest with the plugins that are needed; warnings of other versions are no errors."""
    words = [sys.executable, "-m", "pytest", *files]
    for plugin in ("no:cacheprovider", "xdist.plugin", "benchmarks.gpu._pytest_plugin"):
        words += ["-p", plugin]
    words += ["-n", "4" if device == "cuda" else "2", "--maxschedchunk", "4"]
    words += ["-q", "-W", "default", "--tb", "short", "--continue-on-collection-errors"]
    return [
        *words,
        "-o",
        f"faulthandler_timeout={HANG[device]}",
        "--basetemp",
        folder + "/t",
    ]


def _environment(results: Results, choice: dict[str, Any], pipe: int) -> dict[str, str]:
    """The variables of pytest's processes."""
    found = {
        **os.environ,
        "SEQLOOM_TEST_DEVICE": results.device,
        "SEQLOOM_PROGRAMS": "0",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # else each process starts many
        "OMP_NUM_THREADS": "4" if results.device == "cuda" else "1",
        PIPE: str(pipe),
        CHOICE: json.dumps(choice),
    }
    return found | ({"JAX_PLATFORMS": "cpu"} if results.device == "cpu" else {})


def _follow(listening: int, tally: "Tally") -> bool:
    """Reads events until all tests have ended, or until the time is over: then False."""
    text = b""
    while (seconds := tally.results.seconds_left() - RESERVE) > 0:
        if not select.select([listening], [], [], seconds)[0]:
            return False
        if not (piece := os.read(listening, 1 << 16)):
            return True
        *lines, text = (text + piece).split(b"\n")
        for line in lines:
            tally.count(json.loads(line))
        if tally.is_whole():
            return True
    return False


def _end(process: "subprocess.Popen[bytes]", *, is_killed: bool) -> None:
    """Waits for pytest to end, and ends what is left of its group."""
    if not is_killed:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=RESERVE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Tally:
    """Counts outcomes, and writes each as a result."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self._collected: list[str] = []
        self._running: dict[str, None] = {}
        self._done: dict[str, str] = {}

    def count(self, event: dict[str, Any]) -> None:
        """Counts one event of the plugin."""
        kind = event.pop("event")
        if kind == "collected":
            self._collected = event["ids"]
            return
        name = event.pop("name")
        if kind == "started":
            self._running[name] = None
            return
        self._running.pop(name, None)
        self._done[name] = event["outcome"]
        self.results.add(name, **event)

    def is_whole(self) -> bool:
        """Whether every collected test has ended."""
        return bool(self._collected) and self._done.keys() >= set(self._collected)

    def sum_up(self, choice: dict[str, Any], *, is_whole: bool) -> None:
        """Writes what did not run, and why."""
        for name in self._running:
            why = "the time was over before it ended" if not is_whole else "pytest ended"
            self.results.add(name, outcome="unfinished", why=why)
        names = {name.partition("::")[0] for name in (*self._collected, *self._done)}
        names |= {name.partition("::")[2] for name in self._collected}
        for name in (*choice["files"], *choice["conformance"]):
            if name not in names:
                self.results.skip(name, "it was not collected")

    def facts(self) -> dict[str, Any]:
        """The number of each outcome."""
        waiting = set(self._collected) - set(self._done) - set(self._running)
        return {
            **dict.fromkeys(("passed", "failed", "skipped"), 0),
            **Counter(self._done.values()),
            "unfinished": len(self._running),
            "not_run": len(waiting),
        }
