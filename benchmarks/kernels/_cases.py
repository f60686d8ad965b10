"""Define which kernels are measured, and the shapes and values of their inputs."""

# Functions in this module have one positional parameter per axis.
# ruff: noqa: PLR0917

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from benchmarks._measure import full_or_quick
from benchmarks.tensor._networks import NETWORKS

Arrays = list[np.ndarray]
KMER_LENGTH = 6  # bases per k-mer
ENCODER_KERNELS = ("encode_one_hot", "encode_kmers", "encode_kmer_counts")
SEQUENCE_LENGTHS = (
    120,
    256,
    200,
    64,
    256,
    180,
    248,
    96,
)  # lengths of the sequences in a packed batch


class KernelCase(NamedTuple):
    """Kernel to measure, with the shape and the dtype of its inputs."""

    kind: str
    shape: tuple[Any, ...]
    dtype: str = "float32"

    @property
    def label(self) -> str:
        """Name of the table row."""
        axes = " x ".join(map(str, self.shape))
        double = ", float64" if self.dtype == "float64" else ""
        return f"{self.kind.replace('_', ' ')} {axes}{double}"

    @property
    def is_random(self) -> bool:
        """True if each library draws different random numbers."""
        return self.kind in {"dropout", "normal", "uniform"}

    @property
    def is_fused(self) -> bool:
        """True if a compiler can fuse the operations of this case into one loop."""
        return self.kind.startswith("fused")

    @property
    def operations(self) -> int:
        """Number of multiplications and additions in the case's matrix products."""
        if self.kind.startswith("conv"):
            n, c, o, k, length = self.shape
            axes = 2 if self.kind.startswith("conv2d") else 1
            return 2 * n * c * o * k**axes * (length - k + 1) ** axes
        if not self.kind.startswith("attention"):
            return 0
        n, h, rows, d = self.shape
        pairs = (
            sum(map(np.square, SEQUENCE_LENGTHS)) if "varlen" in self.kind else n * rows**2
        )
        return int((10 if "grad" in self.kind else 4) * pairs * h * d)


def draw_inputs(case: KernelCase) -> Arrays:
    """Draw equal inputs of a kernel for all libraries; the output gradient comes last."""
    family = next(each for each in KERNEL_FAMILIES if case.kind.startswith(each))
    return KERNEL_FAMILIES[family](ArraySampler(case.dtype), *case.shape)


class ArraySampler:
    """Random number generator with a fixed seed, for arrays of one dtype."""

    def __init__(self, dtype: str) -> None:
        self.dtype, self.source = dtype, np.random.default_rng(0)

    def __call__(self, *shape: int) -> np.ndarray:
        """Draw an array of standard normal numbers."""
        return self.source.normal(size=shape).astype(self.dtype)

    def integers_below(self, end: int, *shape: int) -> np.ndarray:
        """Draw integers from 0 to `end`, exclusive."""
        return self.source.integers(0, end, shape)


def _draw_two_arrays(rng: ArraySampler, *shape: int) -> Arrays:
    return [rng(*shape), rng(*shape)]


def _draw_logits_and_labels(rng: ArraySampler, rows: int, classes: int) -> Arrays:
    return [rng(rows, classes), rng.integers_below(classes, rows)]


def _draw_layer_norm(rng: ArraySampler, rows: int, width: int) -> Arrays:
    return [rng(rows, width), rng(width), rng(width), rng(rows, width)]


def _draw_batch_norm(rng: ArraySampler, n: int, c: int, length: int) -> Arrays:
    return [rng(n, c, length), rng(c), rng(c), rng(n, c, length)]


def _draw_pooling(rng: ArraySampler, n: int, c: int, length: int, size: int) -> Arrays:
    return [rng(n, c, length), rng(n, c, length // size)]


def _draw_embedding(rng: ArraySampler, rows: int, count: int, width: int) -> Arrays:
    return [rng(rows, width), rng.integers_below(rows, count), rng(count, width)]


def _draw_parameters(rng: ArraySampler, network: str) -> Arrays:
    shapes = NETWORKS[network].shapes.values()
    return [rng(*shape) for _ in range(2) for shape in shapes]


def _draw_conv1d(rng: ArraySampler, n: int, c: int, o: int, k: int, length: int) -> Arrays:
    return [rng(n, c, length), rng(o, c, k), rng(n, o, length - k + 1)]


def _draw_conv2d(rng: ArraySampler, n: int, c: int, o: int, k: int, length: int) -> Arrays:
    after = length - k + 1
    return [rng(n, c, length, length), rng(o, c, k, k), rng(n, o, after, after)]


def _draw_attention_heads(rng: ArraySampler, n: int, h: int, rows: int, d: int) -> Arrays:
    """Draw queries, keys and values as views of one array, as in an attention layer."""
    parts = rng(n, rows, 3, h, d).transpose(2, 0, 3, 1, 4)
    mask = np.arange(rows) < rng.source.integers(rows // 2, rows + 1, (n, 1, 1, 1))
    return [*parts, mask, rng(n, rows, h, d).transpose(0, 2, 1, 3)]


def _draw_packed_attention_heads(
    rng: ArraySampler, n: int, h: int, rows: int, d: int
) -> Arrays:
    del n, rows
    total = sum(SEQUENCE_LENGTHS)
    bounds = np.cumsum((0, *SEQUENCE_LENGTHS))
    return [*rng(3, total, h, d), bounds, rng(total, h, d)]


def _draw_fused_chain(rng: ArraySampler, rows: int, width: int) -> Arrays:
    return [rng(rows, width), rng(width), rng(width), rng(rows, width)]


def _draw_bases(rng: ArraySampler, reads: int, length: int) -> Arrays:
    return [np.frombuffer(b"ACGT", np.uint8)[rng.integers_below(4, reads, length)]]


KERNEL_FAMILIES: dict[str, Callable[..., Arrays]] = {
    "softmax": _draw_two_arrays,
    "cross_entropy": _draw_logits_and_labels,
    "layer_norm": _draw_layer_norm,
    "batch_norm": _draw_batch_norm,
    "gelu": _draw_two_arrays,
    "relu": _draw_two_arrays,
    "max_pool1d": _draw_pooling,
    "dropout": _draw_two_arrays,
    "normal": _draw_two_arrays,
    "uniform": _draw_two_arrays,
    "adamw": _draw_parameters,
    "embedding": _draw_embedding,
    "conv1d": _draw_conv1d,
    "conv2d": _draw_conv2d,
    "attention_varlen": _draw_packed_attention_heads,
    "attention": _draw_attention_heads,
    "fused": _draw_fused_chain,
    "encode": _draw_bases,
}


def _make_cases_with_gradient(kind: str, *shapes: tuple[int, ...]) -> list[KernelCase]:
    """Create cases of a kernel and its gradient; for the first shape, also in float64."""
    kinds = (kind, f"{kind}_grad")
    double = [KernelCase(each, shapes[0], "float64") for each in kinds]
    return [*_combine_cases(kinds, *shapes), *full_or_quick(double, [])]


def _make_cases_with_two_gradients(kind: str, *shapes: tuple[int, ...]) -> list[KernelCase]:
    return _combine_cases((kind, f"{kind}_input_grad", f"{kind}_weight_grad"), *shapes)


def _combine_cases(kinds: Iterable[str], *shapes: tuple[Any, ...]) -> list[KernelCase]:
    """Create a case of each kernel with each shape; a quick run uses the first shape."""
    return [
        KernelCase(kind, shape)
        for shape in full_or_quick(shapes, shapes[:1])
        for kind in kinds
    ]


def make_kernel_cases() -> list[KernelCase]:
    """Return all cases: each kernel with shapes from networks, and with larger shapes."""
    return [
        *_make_cases_with_gradient("softmax", (2048, 256), (64, 10), (2048, 8192)),
        *_combine_cases(("cross_entropy",), (2048, 33), (64, 10), (2048, 8192)),
        *_make_cases_with_gradient("layer_norm", (2048, 320), (8192, 1024)),
        *_make_cases_with_gradient("batch_norm", (64, 32, 60), (64, 320, 993)),
        *_make_cases_with_gradient("gelu", (2048, 1280), (2048, 60), (4096, 4096)),
        *_combine_cases(("relu", "relu_grad"), (64, 512), (4096, 4096)),
        *_make_cases_with_gradient("max_pool1d", (64, 32, 60, 2), (8, 320, 993, 4)),
        *_combine_cases(("dropout", "normal", "uniform"), (2048, 1280), (64, 512)),
        *_combine_cases(("adamw",), ("MLP",), ("SequenceCNN",), ("encoder",)),
        *_combine_cases(
            ("embedding", "embedding_grad"), (33, 2048, 320), (30000, 8192, 320)
        ),
        *_make_cases_with_two_gradients("conv1d", (64, 4, 32, 3, 62), (64, 32, 32, 5, 64)),
        *_make_cases_with_two_gradients(
            "conv1d", (8, 4, 320, 8, 1000), (4, 320, 480, 8, 248)
        ),
        *_make_cases_with_two_gradients("conv1d", (4, 480, 960, 8, 60)),
        *_make_cases_with_two_gradients("conv2d", (8, 16, 32, 3, 34), (8, 64, 64, 3, 34)),
        *_make_cases_with_gradient("attention", (8, 5, 256, 64)),
        *_combine_cases(("attention_masked", "attention_masked_grad"), (8, 5, 256, 64)),
        *_combine_cases(("attention_varlen", "attention_varlen_grad"), (8, 5, 256, 64)),
        *full_or_quick(
            _combine_cases(("attention", "attention_grad"), (1, 8, 2048, 64)), []
        ),
        *_combine_cases(
            ("fused_gelu", "fused_chain", "fused_norm"), (2048, 320), (4096, 2048)
        ),
        *_combine_cases(ENCODER_KERNELS, (512, 150), (64, 4096)),
    ]
