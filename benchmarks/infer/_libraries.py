"""Map the name of each compared library to the function that runs it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.infer import _engines, _huggingface, _lower_bounds, _seqloom_inference
from benchmarks.infer._inputs import InferenceTask
from seqloom._rust import _native
from seqloom._system import match_in_system_file

Prepare = Callable[[InferenceTask], Callable[[], Any]]

REFERENCE_LIBRARY = "Hugging Face, one at a time"
OURS, OURS_INT8 = "seqloom, NumPy", "seqloom, NumPy, int8"
PRODUCTS, FUNCTIONS = "floor: products", "floor: exp and erf"

# These libraries run only if the processor has AVX512-BF16 and its use is not
# restricted.
BFLOAT16_LIBRARIES: dict[str, Prepare] = {
    f"{REFERENCE_LIBRARY}, bfloat16": partial(
        _huggingface.prepare_huggingface, order="one at a time", dtype="bfloat16"
    ),
    "OpenVINO, bfloat16": partial(_engines.prepare_openvino, precision="bf16"),
    "seqloom, torch, bfloat16": partial(
        _seqloom_inference.prepare_seqloom, backend="torch", dtype="bfloat16"
    ),
}
PROCESSOR_FLAGS = match_in_system_file("/proc/cpuinfo", r"^flags[^:]*:(.*)$") or ""
HAS_BFLOAT16 = _native.simd() == "avx512" and "avx512_bf16" in PROCESSOR_FLAGS.split()
PREPARE_FUNCTION_OF_LIBRARY: dict[str, Prepare] = {
    **{
        f"Hugging Face, {order}": partial(_huggingface.prepare_huggingface, order=order)
        for order in _huggingface.BATCHES_OF_ORDER
    },
    "ONNX Runtime": partial(_engines.prepare_onnxruntime, file=_engines.PLAIN),
    "ONNX Runtime, int8": partial(_engines.prepare_onnxruntime, file=_engines.INT8),
    "OpenVINO": partial(_engines.prepare_openvino, precision="f32"),
    OURS: partial(_seqloom_inference.prepare_seqloom, backend="numpy", dtype="float32"),
    "seqloom, torch": partial(
        _seqloom_inference.prepare_seqloom, backend="torch", dtype="float32"
    ),
    OURS_INT8: partial(_seqloom_inference.prepare_seqloom, backend="numpy", dtype="int8"),
    "seqloom, torch, int8": partial(
        _seqloom_inference.prepare_seqloom, backend="torch", dtype="int8"
    ),
    **(BFLOAT16_LIBRARIES if HAS_BFLOAT16 else {}),
    PRODUCTS: _lower_bounds.prepare_products,
    FUNCTIONS: _lower_bounds.prepare_functions,
}
# Libraries that compute in float32, so that their results must equal the reference.
FLOAT32_LIBRARIES = tuple(
    side
    for side in PREPARE_FUNCTION_OF_LIBRARY
    if not ("int8" in side or side in {*BFLOAT16_LIBRARIES, PRODUCTS, FUNCTIONS})
)
