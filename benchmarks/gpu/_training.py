"""Training steps on a GPU: ours compared with torch's, and what the loader costs them."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

from benchmarks._page import table
from benchmarks.gpu._card import peak_since, start_peak
from benchmarks.gpu._results import Results
from benchmarks.tensor._networks import Setup

STEP, WAIT = "training step", "training wait share"
SYNCHRONISATION = "training synchronisation"
OURS, RIVAL = "ours on torch", "torch eager"
# Samples of a batch and their length: on a GPU, and to show that a part works.
SIZES = {"SequenceCNN": (4096, 200), "encoder": (64, 256), "dilated": (256, 2114)}
TINY_SIZES = {"SequenceCNN": (8, 40), "encoder": (1, 16), "dilated": (2, 64)}
# The first network that is compiled: on a GPU, and the one that takes the least time.
COMPILED_FIRST = ("dilated", "SequenceCNN")
# The greatest difference of the first losses, relative to the first one.
TOLERANCES = {"bfloat16": 2e-2, "float32": 1e-3}
# Seconds that an item takes at most: on a GPU, and on small inputs.
EAGER_SECONDS, COMPILED_SECONDS, WAIT_SECONDS = (8.0, 2.0), (70.0, 20.0), (18.0, 2.0)
# Rounds in which the sides take turns: on a GPU, and on small inputs.
ROUNDS, ROUND_SECONDS, FIRST_STEPS = (5, 2), 0.2, 3


def run(results: Results) -> None:
    """Measures all items, the most important ones first; each writes its own result."""
    from benchmarks.gpu._training_loops import measure_compiled, measure_waits

    _turn_tf32_off()
    compiled_first = COMPILED_FIRST[results.is_tiny]
    eager = "eager steps", _measure_eager, EAGER_SECONDS
    compiled = "compiled steps", measure_compiled, COMPILED_SECONDS
    order = [
        *((*eager, name, "bfloat16") for name in SIZES),
        (*compiled, compiled_first, "bfloat16"),
        ("wait share", measure_waits, WAIT_SECONDS, WAITING, "bfloat16"),
        *((*eager, name, "float32") for name in SIZES),
    ]
    if not results.is_tiny:  # small inputs have run the code of the rest
        others = [name for name in SIZES if name != compiled_first]
        order += [(*compiled, name, "bfloat16") for name in others]
    for what, measure, seconds, name, dtype in order:
        work = partial(measure, results, _setup(results, name, dtype))
        what = f"training, {what} of {name} in {dtype}"  # noqa: PLW2901
        _attempt(results, what, work, seconds=seconds[results.is_tiny])


WAITING = "SequenceCNN"  # the network whose steps are the shortest


def _setup(results: Results, name: str, dtype: str) -> Setup:
    rows, length = (TINY_SIZES if results.is_tiny else SIZES)[name]
    return Setup(name=name, device=results.device, dtype=dtype, rows=rows, length=length)


def _attempt(
    results: Results,
    what: str,
    work: Callable[[], None],
    *,
    seconds: float,
) -> None:
    """Measures an item if there is time; writes why it is skipped, or how it failed."""
    left = results.seconds_left()
    if left < seconds:
        results.skip(what, f"needs about {seconds:.0f} s, {max(left, 0):.0f} s are left")
        return
    try:
        work()
    except Exception as error:  # noqa: BLE001 - a result, which must not end the others
        results.add(what, failed=f"{type(error).__name__}: {error}")


def _turn_tf32_off() -> None:
    """Has every side compute float32 in full."""
    import torch

    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False


def _measure_eager(results: Results, setup: Setup) -> None:
    """Times steps of torch eager and of ours in turns, and compares their losses."""
    from benchmarks._measure import interleave
    from benchmarks.tensor._networks import batch_of
    from benchmarks.tensor._sides import SIDES

    sides, found = dict[str, Any](), dict[str, dict[str, Any]]()
    arrays = batch_of(setup.network)
    for name in (RIVAL, OURS):
        before = start_peak(setup.device)
        side = SIDES[name](setup)
        batch = side.prepare(arrays)
        losses = [side.step(batch) for _ in range(FIRST_STEPS)]
        found[name] = {
            "losses": losses,
            "seconds": [],
            "peak_bytes": peak_since(before, setup.device),
        }
        sides[name] = side, batch
    steps = _count_steps(results, *sides[RIVAL])
    works = {name: _work(side, batch, steps) for name, (side, batch) in sides.items()}
    for name, seconds in interleave(works, rounds=ROUNDS[results.is_tiny]).items():
        found[name]["seconds"] = [each / steps for each in seconds]
    write_step(results, setup, found, mode="eager", pair=(OURS, RIVAL))
    _find_synchronisation(results, setup, sides)


def _work(side: Any, batch: Any, steps: int) -> Callable[[], None]:
    """Some steps whose losses are not read, and the wait for the device."""

    def work() -> None:
        for _ in range(steps):
            side.learn(batch)
        side.wait()

    return work


def _count_steps(results: Results, side: Any, batch: Any) -> int:
    """The number of steps that make a round long enough for the clock."""
    from time import perf_counter

    if results.is_tiny:
        return 1
    work = _work(side, batch, 3)
    work()
    start = perf_counter()
    work()
    return max(3, round(3 * ROUND_SECONDS / (perf_counter() - start)))


def write_step(
    results: Results,
    setup: Setup,
    found: dict[str, dict[str, Any]],
    *,
    mode: str,
    pair: tuple[str, str],
) -> None:
    """Writes the figures of two sides, their ratio, and whether their losses agree."""
    rows = setup.network.rows
    for side in found.values():
        if side.get("seconds"):
            side["samples_per_second"] = rows / median(side["seconds"])
            side["spread"] = max(side["seconds"]) / min(side["seconds"]) - 1
    fields: dict[str, Any] = {
        "network": setup.name,
        "dtype": setup.dtype,
        "mode": mode,
        "rows": rows,
        "length": setup.network.length,
        "sides": {name: found[name] for name in pair},
    }
    for key in ("failed", "skipped"):
        causes = [f"{name}: {found[name][key]}" for name in pair if key in found[name]]
        if causes:
            results.add(STEP, **fields, **{key: "; ".join(causes)})
            return
    ours, rival = (found[name] for name in pair)
    difference = _compare(ours["losses"], rival["losses"])
    fields["ratio"] = median(ours["seconds"]) / median(rival["seconds"])
    fields |= {"difference": difference, "tolerance": TOLERANCES[setup.dtype]}
    # "Not below", so that a NaN fails.
    if not difference < TOLERANCES[setup.dtype]:
        fields["failed"] = "the losses of the first steps differ"
    results.add(STEP, **fields)


def _compare(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The greatest difference of losses, relative to the first one."""
    return max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) / abs(theirs[0])


def _find_synchronisation(results: Results, setup: Setup, sides: dict[str, Any]) -> None:
    """Makes one step of each side in which torch raises where it waits for the GPU."""
    import torch

    what = f"{SYNCHRONISATION} of {setup.name} in {setup.dtype}"
    if setup.device == "cpu":
        for side, batch in sides.values():
            side.learn(batch)
        results.skip(what, "torch finds synchronisation on CUDA only")
        return
    fields: dict[str, Any] = {"network": setup.name, "dtype": setup.dtype}
    numbers = torch.ones(1, device=setup.device)
    fields["is_detected"] = bool(_explain_wait(numbers.item))
    for name, (side, batch) in sides.items():
        message = _explain_wait(lambda side=side, batch=batch: side.learn(batch))
        fields[name] = {"synchronises": bool(message), "message": message}
    results.add(SYNCHRONISATION, **fields)


def _explain_wait(work: Callable[[], object]) -> str:
    """Where `work` waits for the GPU; empty if it does not."""
    import traceback

    import torch

    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        work()
    except RuntimeError as error:
        frames = traceback.extract_tb(error.__traceback__)[-4:]
        places = " > ".join(f"{frame.filename}:{frame.lineno}" for frame in frames)
        return f"{str(error).partition(chr(10))[0]} ({places})"
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return ""


STEP_HEAD = (
    "network",
    "type",
    "side",
    "samples/s",
    "spread",
    "peak memory",
    "seconds to compile",
    "ours / it",
    "difference of losses",
)
STEP_TEXTS = ("type", "side", "difference of losses")
WAIT_HEAD = ("network", "threads", "share of waiting", "samples/s", "samples")


def tables(results: list[dict[str, Any]]) -> list[str]:
    """Makes the Markdown of the training part from the results of a run."""
    steps = [row for it in results if it["what"] == STEP for row in _step_rows(it)]
    waits = [_wait_row(it) for it in results if it["what"] == WAIT and "share" in it]
    loops = [
        line for it in results if it["what"] == SYNCHRONISATION for line in _waits_of(it)
    ]
    found = [table(STEP_HEAD, steps, texts=STEP_TEXTS)] if steps else []
    found += [table(WAIT_HEAD, waits)] if waits else []
    found += ["\n".join(loops)] if loops else []
    return found


def _step_rows(result: dict[str, Any]) -> list[list[str]]:
    """A row for each side of a comparison; the first one is ours."""
    network = f"{result['network']}, {result['rows']:,} x {result['length']:,}"
    kind = f"{result['dtype']}, {result['mode']}"
    return [
        [network, kind, name, *_figures(side), *_comparison(result, is_ours=number == 0)]
        for number, (name, side) in enumerate(result["sides"].items())
    ]


def _figures(side: dict[str, Any]) -> list[str]:
    """Speed, spread, memory and compilation of a side, empty where not measured."""
    if "samples_per_second" not in side:
        return ["none", "", "", ""]
    peak, compiling = side.get("peak_bytes"), side.get("compile_seconds")
    return [
        f"{side['samples_per_second']:,.0f}",
        f"{100 * side['spread']:.0f} %",
        f"{peak / 2**20:,.0f} MiB" if peak else "",
        f"{compiling:.1f}" if compiling else "",
    ]


def _comparison(result: dict[str, Any], *, is_ours: bool) -> list[str]:
    """The ratio of times on the rival's row, the difference of losses on ours."""
    if "ratio" not in result:
        return ["", ""]
    if not is_ours:
        return [f"**{result['ratio']:.2f}**", ""]
    word = "too large" if "failed" in result else "within"
    return ["", f"{result['difference']:.1e}, {word} ({result['tolerance']:.0e})"]


def _wait_row(result: dict[str, Any]) -> list[str]:
    return [
        f"{result['network']}, {result['rows']:,} x {result['length']:,}",
        f"{result['threads']}",
        f"{100 * result['share']:.2f} %",
        f"{result['samples_per_second']:,.0f}",
        f"{result['samples']:,}",
    ]


def _waits_of(result: dict[str, Any]) -> list[str]:
    """Says whether a step of each side waited for the GPU."""
    sides = {name: it for name, it in result.items() if isinstance(it, dict)}
    found = [
        f"{name}: {'yes, ' + it['message'] if it['synchronises'] else 'no'}"
        for name, it in sides.items()
    ]
    step = f"{result['network']} in {result['dtype']}"
    return [f"- A step of {step} waits for the GPU: {'; '.join(found)}."]
