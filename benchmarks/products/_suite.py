"""Time the matrix products of networks in each library, and write the tables."""

from statistics import median

from benchmarks._measure import full_or_quick
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.products._processes import (
    PYTHON_LIBRARIES,
    RUST_CRATES,
    ProductProcess,
    ProductShape,
)

LIBRARIES_AND_CRATES = (*PYTHON_LIBRARIES, *RUST_CRATES)
ROUNDS = full_or_quick(5, 3)
NOTES = """
The tables have median speeds in Gflop/s. `nt` is the forward product of a layer. `tn` is
the gradient with respect to the layer's weights, `nn` with respect to its inputs. Sizes are
rows x depth x columns. Torch multiplies with MKL; gemm 0.19 and private-gemm-x86 0.1 (part
of faer) are Rust crates. A ratio above 1 means that seqloom is faster.
"""
# Seconds per measurement, and maximum number of products in that time.
SECONDS, MOST = full_or_quick(0.03, 0.02), 200


def _layer_products(rows: int, before: int, after: int) -> list[ProductShape]:
    """Return the forward product of a layer, and the products of its gradients."""
    return [
        ProductShape("nt", rows, before, after),
        ProductShape("tn", after, rows, before),
        ProductShape("nn", rows, after, before),
    ]


# (rows, inputs, outputs) of MLP layers, an encoder, unfolded convolutions of
# SequenceCNN and DeepSEA, and common sizes.
PRODUCTS_OF_NETWORK = full_or_quick(
    {
        "MLP": [(64, 784, 512), (64, 512, 512)],
        "encoder": [
            (2048, 320, 960),
            (2048, 320, 320),
            (2048, 320, 1280),
            (2048, 1280, 320),
        ],
        "SequenceCNN": [(960, 160, 32), (64, 480, 3)],
        "DeepSEA": [(3856, 2560, 480), (848, 3840, 960), (64, 50880, 925)],
        "others": [(64, 1024, 1024), (4096, 512, 2048), (1024, 1024, 1024)],
    },
    {
        "MLP": [(64, 784, 512)],
        "encoder": [(2048, 320, 960), (2048, 1280, 320)],
        "SequenceCNN": [(960, 160, 32), (64, 480, 3)],
        "others": [(64, 1024, 1024), (1024, 1024, 1024)],
    },
)


def network_products(dtype: str) -> list[tuple[str, ProductShape]]:
    """Return the products of every layer, with the name of its network."""
    return [
        (name, shape._replace(dtype=dtype))
        for name, layers in PRODUCTS_OF_NETWORK.items()
        for layer in layers
        for shape in _layer_products(*layer)
    ]


def main() -> None:
    """Measure float32 and float64 products with one and with two threads."""
    tables = [
        _product_table(threads, dtype)
        for dtype in ("float32", "float64")
        for threads in (1, 2)
    ]
    text = "\n\n".join([*tables, describe_machine("numpy", "torch", "seqloom")])
    publish_section("products", text, notes=NOTES, hidden="float64|2 threads")


def _product_table(threads: int, dtype: str) -> str:
    """Return one row per product: speeds in Gflop/s, and the ratio to the fastest rival."""
    sides = {name: ProductProcess(name, threads) for name in LIBRARIES_AND_CRATES}
    try:
        rows = [
            _product_speeds(name, shape, sides) for name, shape in network_products(dtype)
        ]
    finally:
        for side in sides.values():
            side.close()
    head = (
        f"{dtype}, {threads} threads",
        "seqloom",
        *LIBRARIES_AND_CRATES[1:],
        "seqloom / fastest other",
    )
    return markdown_table(head, rows)


def _product_speeds(
    name: str, shape: ProductShape, sides: dict[str, ProductProcess]
) -> list[str]:
    """Return the speed of each library for one product."""
    once = sides["OpenBLAS"].measure(shape, 1)
    times = max(1, min(MOST, int(SECONDS / once)))
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(ROUNDS):
        for side, process in sides.items():
            seconds[side].append(process.measure(shape, times))
    speeds = {side: shape.operations / median(each) / 1e9 for side, each in seconds.items()}
    best = max(speed for side, speed in speeds.items() if side != "ours")
    label = f"{name} {shape}"
    print(label, {side: round(speed) for side, speed in speeds.items()}, flush=True)
    return [
        label,
        *(f"{v:.0f}" for v in speeds.values()),
        f"**{speeds['ours'] / best:.2f}**",
    ]
