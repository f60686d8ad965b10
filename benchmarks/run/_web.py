"""Run the WebAssembly module in Node, and the native command on one thread."""

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path
from statistics import median

from benchmarks._measure import REPOSITORY_ROOT, full_or_quick
from seqloom.cli._export import PROGRAM

_WASM_FILE = REPOSITORY_ROOT / "web/dist/seqloom_web.wasm"
_ROUNDS = full_or_quick(9, 3)
# Size of onnxruntime-web's smallest module, ort-wasm-simd-threaded.wasm, in bytes:
# https://github.com/surisuririsu/gakumas-tools/pull/114 (September 2026).
_ONNXRUNTIME_WEB_BYTES = 12_810_620


def measure_web(folder: Path, reads: Path, records: int) -> str:
    """Describe the size of the WebAssembly module, and its speed on `model.seqloom.zip`."""
    if not _WASM_FILE.exists() or not shutil.which("node"):
        return "WebAssembly: not measured, it needs Node and web/dist (make web)."
    model = folder / "model.seqloom.zip"
    ours, native = _time_module_and_command(model, reads)
    content = _WASM_FILE.read_bytes()
    packed = len(gzip.compress(content, 9))
    return (
        f"WebAssembly in Node on one thread scores a file of {records:,} records at "
        f"{ours:,.0f} records/s, **{ours / native:.2f}** of the speed of `seqloom-run` on "
        f"one thread. Its module has {len(content) / 1e6:.2f} MB ({packed / 1e3:.0f} kB "
        f"with gzip); the module of onnxruntime-web has "
        f"{_ONNXRUNTIME_WEB_BYTES / 1e6:.1f} MB."
    )


def _time_module_and_command(model: Path, reads: Path) -> tuple[float, float]:
    """Return the median records/s of the module and of the command, timed alternately."""
    speeds = [
        (_node_speed(model, reads), _native_speed(model, reads)) for _ in range(_ROUNDS)
    ]
    return median(it[0] for it in speeds), median(it[1] for it in speeds)


def _node_speed(model: Path, reads: Path) -> float:
    """Return the records/s for one file, after a warm-up."""
    script = REPOSITORY_ROOT / "benchmarks/run/web.mjs"
    said = _run_program(["node", str(script), str(_WASM_FILE), str(model), str(reads)])
    return json.loads(said)["speed"]


def _native_speed(model: Path, reads: Path) -> float:
    """Return the records/s on one thread that the command prints."""
    said = _run_program([str(PROGRAM), "bench", str(model), str(reads), "--threads", "1"])
    return float(re.findall(r"^speed +(\d+)", said, re.MULTILINE)[0])


def _run_program(command: list[str]) -> str:
    """Return the standard output of a program."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
