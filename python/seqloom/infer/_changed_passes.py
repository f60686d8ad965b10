"""Compute a network's outputs for sequences that differ little from other sequences.

The network runs once for each reference. For an alternative, only the positions that the
change can reach are computed again.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from seqloom.data._encoder import position_axis
from seqloom.errors import CaptureError, SeqloomError
from seqloom.infer._changed_graph import LocalGraph, Origin
from seqloom.infer._changed_rows import (
    Alternatives,
    Changes,
    Cluster,
    Moves,
    find_changes,
    find_clusters,
)
from seqloom.infer._forward import Forward
from seqloom.models import TorchModule
from seqloom.models._examples import counts_kmers
from seqloom.nn._processes import find_batch_processes
from seqloom.tensor import Tensor, backend
from seqloom.tensor._compile._capture import Capture
from seqloom.tensor._compile._code import reject_impure_calls
from seqloom.tensor._compile._passes import simplify
from seqloom.tensor._compile._symbol import Symbol
from seqloom.tensor._compile._trace import reject_outside_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from seqloom.infer._changed_graph import References
    from seqloom.nn import Module
    from seqloom.tensor._graph import Value

    Integers = NDArray[np.int64]

Item = TypeVar("Item")
Result = TypeVar("Result")

# Arrays of a batch besides the encoded residues. There is no mask without padding.
_OTHER_ARRAYS = frozenset({"lengths", "covariates"})
# The maximum number of sequences, and of their positions, that are computed whole together.
_MAX_BATCH = 64
_MAX_WHOLE_POSITIONS = 1 << 13
# The number of such batches of alternatives that are computed together.
_GROUP_BATCHES = 4
# The maximum number of lengths for which a network stays captured.
_MAX_NETWORKS = 64
# The number of bytes of one value of the references that are computed together, so that
# the values remain in the cache of the processor.
_BLOCK_BYTES = 1 << 21
# The maximum number of bytes of the stored values of references.
_MAX_REFERENCE_BYTES = 1 << 28


def find_changed_passes(model: Module, encoder: Any) -> ChangedPasses | None:
    """Return the passes of a network; None if it reads more than encoded residues."""
    if counts_kmers(encoder) or isinstance(model, TorchModule):
        return None
    forward = Forward.of(model)
    reads_others = (
        forward.receives_padding(model)
        if forward.names is None
        else not _OTHER_ARRAYS.isdisjoint(forward.names)
    )
    if reads_others or model.backend.name != "numpy" or find_batch_processes() is not None:
        return None
    return ChangedPasses(model, encoder)


class ChangedPasses:
    """Computes the outputs of a network in evaluation mode for references and alternatives.

    An output never depends on the other sequences of a call.
    """

    def __init__(self, model: Module, encoder: Any) -> None:
        self._model, self._encoder = model, encoder
        self._forward = Forward.of(model)
        self._networks: dict[tuple[int, ...], LocalNetwork | None] = {}

    def run(
        self,
        reference: NDArray[Any],
        alternative: NDArray[Any],
        rows: Integers,
        *,
        moves: Moves | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the outputs of the references and of the alternatives.

        Row ``rows[i]`` of `reference` is the original of row ``i`` of `alternative`.
        """
        moves = moves or Moves.of_substitutions(len(rows))
        outputs, parts = self.run_parts(reference, [Alternatives(alternative, rows, moves)])
        return outputs, parts[0]

    def run_parts(
        self,
        reference: NDArray[Any],
        parts: Sequence[Alternatives],
        places: Integers | None = None,
    ) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
        """Return the outputs of the references, and of alternatives of several lengths.

        Overlapping references share a pass if their `places` in a genome are given, and
        their values do not depend on the ends of the windows.
        """
        origin = self.find_network(reference)
        jobs: dict[int, _Job] = {}
        found: dict[int, NDArray[np.float32]] = {}
        for number, part in enumerate(parts):
            network = self._find_continuation(origin, part.array)
            if network is None:
                found[number] = self._run_whole(part.array)
            else:
                inputs = self._to_array(part.array)
                jobs[number] = _Job(network, part._replace(array=inputs))
        if origin is None:
            outputs = self._run_whole(reference)
        else:
            inputs = self._to_array(reference)
            outputs = origin.run(inputs, [*jobs.values()], places)
        found |= {number: job.join() for number, job in jobs.items()}
        return outputs, [found[number] for number in range(len(parts))]

    def _find_continuation(
        self, origin: LocalNetwork | None, alternative: NDArray[Any]
    ) -> LocalNetwork | None:
        """Return the network of alternatives whose values continue those of references."""
        network = self.find_network(alternative)
        if origin is None or network is None or not network.continues(origin):
            return None
        longer = network.graph.length - origin.graph.length
        # Longer insertions leave few common bases.
        return network if 2 * longer < origin.graph.length else None

    def find_network(self, reference: NDArray[Any]) -> LocalNetwork | None:
        """Return the captured network; None if each sequence must be computed whole."""
        shape = reference.shape[1:]
        if shape not in self._networks:
            if len(self._networks) >= _MAX_NETWORKS:
                self._networks.clear()
            self._networks[shape] = self._capture(reference)
        return self._networks[shape]

    def _capture(self, reference: NDArray[Any]) -> LocalNetwork | None:
        """Capture the network for sequences of one length."""
        model = self._model
        model.eval()
        axis = position_axis(self._encoder)
        array = self._to_array(reference[:1])
        rows = _count_rows(array.shape[axis])
        capture = Capture(model.backend)
        try:
            inputs = self._run_on_symbols(capture, (rows, *array.shape[1:]), array.dtype)
            made = LocalNetwork(capture, inputs, axis)
        except SeqloomError:
            return None
        return made if made.saves_work else None

    def _run_on_symbols(
        self, capture: Capture, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Value:
        """Record the operations of the network; return the value of its inputs."""
        model = self._model
        try:
            for leaf in {id(it): it for it in model.leaves()[1]}.values():
                leaf.on(capture.target)
                capture.add_leaf(leaf)
            symbol = capture.recorder.new_input(shape, dtype)
            tensors = {"inputs": Tensor(symbol, capture)}
            guards = capture.run_on_thread(), reject_impure_calls(set())
            with guards[0], guards[1], reject_outside_calls():
                result = self._forward.call(model, tensors)
        finally:
            capture.restore_leaves()
        raw: Any = getattr(result, "raw", None)
        if not isinstance(raw, Symbol):
            raise CaptureError("the network does not return a tensor of its inputs")
        capture.recorder.graph.outputs = [raw.value]
        return symbol.value

    def _to_array(self, inputs: NDArray[Any]) -> Any:
        """Convert encoded sequences to the dtype that the network reads."""
        tensors = self._forward.tensors(
            self._model, {"inputs": inputs}, encoder=self._encoder
        )
        return tensors["inputs"].raw

    def _run_whole(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Compute whole sequences, in batches of one size."""
        self._model.eval()
        size = _count_rows(inputs.shape[position_axis(self._encoder)])
        found: list[NDArray[np.float32]] = []
        for start in range(0, len(inputs), size):
            rows = np.minimum(np.arange(start, start + size), len(inputs) - 1)
            batch = {"inputs": inputs[rows]}
            made = self._forward(self._model, batch, encoder=self._encoder)
            found.append(np.asarray(made, np.float32)[: len(inputs) - start])
        return np.concatenate(found)


class LocalNetwork:
    """A network for sequences of one length, as a graph."""

    def __init__(self, capture: Capture, inputs: Value, axis: int) -> None:
        graph, target = simplify(capture.recorder.graph), capture.target
        single = backend(target.name, num_threads=1)
        axes = {inputs.number: axis}
        self.graph = LocalGraph(graph, axes, target)
        self._single_threaded = LocalGraph(graph, axes, single)
        self._backend, self.axis = target, axis
        self._leaves = [(value, leaf) for leaf, value in capture.admitted.values()]

    @property
    def saves_work(self) -> bool:
        """True if the network has windows."""
        return self.graph.has_windows

    def continues(self, other: LocalNetwork) -> bool:
        """Return whether both networks compute the same function of nearby positions."""
        return self is other or self.graph.continues(other.graph)

    def run(
        self,
        reference: NDArray[Any],
        jobs: Sequence[_Job],
        places: Integers | None = None,
    ) -> NDArray[np.float32]:
        """Return the outputs of the references; run the jobs for their alternatives."""
        known = self.read_leaves()
        found: list[NDArray[np.float32]] = []
        numbers: list[int] = []
        for clusters in self._split(reference, places):
            origin, outputs = self._run_references(reference, clusters, known)
            found.append(outputs)
            rows = [row for it in clusters for row in it.rows]
            numbers += rows
            for job in jobs:
                job.run(reference, rows, origin)
        outputs = np.concatenate(found).astype(np.float32, copy=False)
        return outputs[np.argsort(numbers)]

    def _split(
        self, reference: NDArray[Any], places: Integers | None
    ) -> Iterator[list[Cluster]]:
        """Yield references in chunks of limited memory."""
        chunk: list[Cluster] = []
        size, length = 0.0, self.graph.length
        step = self.graph.shared_step
        for cluster in find_clusters(reference, places, self.axis, step=step):
            more = self.graph.reference_bytes * (1 + cluster.offsets[-1] / length)
            if chunk and size + more > _MAX_REFERENCE_BYTES:
                yield chunk
                chunk, size = [], 0.0
            chunk.append(cluster)
            size += more
        yield chunk

    def read_leaves(self) -> dict[int, Any]:
        """Return the values that do not depend on the inputs."""
        leaves = [(value, leaf.on(self._backend)) for value, leaf in self._leaves]
        return self.graph.read_leaves(leaves)

    def _run_references(
        self, reference: NDArray[Any], clusters: list[Cluster], known: dict[int, Any]
    ) -> tuple[Origin, NDArray[np.float32]]:
        """Compute the outputs of references, and the values that alternatives need."""

        def compute_block(
            graph: LocalGraph, block: list[Cluster]
        ) -> tuple[list[NDArray[Any]], References]:
            made: References = {}
            inputs = np.concatenate([it.join(reference, self.axis) for it in block])
            return graph.run_whole(inputs, known, made, offsets=block[0].offsets), made

        size = max(1, _BLOCK_BYTES // self.graph.row_bytes)
        found = self.run_on_threads(compute_block, [*_find_blocks(clusters, size)])
        references: References = {}
        for _, made in found:
            for number, new in made.items():
                references.setdefault(number, new._replace(rows=[])).rows.extend(new.rows)
        ends = [np.concatenate(it) for it in zip(*(it for it, _ in found), strict=True)]
        return Origin(self.graph, references), self.graph.finish(ends, known)

    def run_on_threads(
        self, work: Callable[[LocalGraph, Item], Result], items: list[Item]
    ) -> list[Result]:
        """Return the result of each item, in order."""
        # Small kernels use one thread better than several threads.
        threads = self._backend.threads
        if threads == 1 or len(items) < threads:
            return [work(self.graph, it) for it in items]
        with ThreadPoolExecutor(threads, "seqloom-changes") as pool:
            return [*pool.map(partial(work, self._single_threaded), items)]


def _find_blocks(clusters: list[Cluster], size: int) -> Iterator[list[Cluster]]:
    """Yield clusters of several references, and up to `size` clusters of one reference."""
    for is_single, group in groupby(clusters, key=lambda it: len(it.rows) == 1):
        own, step = list(group), size if is_single else 1
        yield from (own[first : first + step] for first in range(0, len(own), step))


class _Job:
    """Alternatives of one length, and the outputs that were computed."""

    def __init__(self, network: LocalNetwork, alternatives: Alternatives) -> None:
        self._network, self._alternatives = network, alternatives
        self._known = network.read_leaves()
        # The alternatives of a reference are consecutive in this order.
        self._order = np.argsort(alternatives.rows, kind="stable")
        self._sources = alternatives.rows[self._order]
        self._found: list[tuple[Integers, NDArray[np.float32]]] = []

    def run(self, reference: NDArray[Any], rows: list[int], origin: Origin) -> None:
        """Compute the alternatives of some references."""
        network, part = self._network, self._alternatives
        firsts, stops = (
            np.searchsorted(self._sources, rows, side) for side in ("left", "right")
        )
        members = [self._order[it] for it in map(slice, firsts, stops)]
        changes = find_changes(
            reference[rows],
            part,
            network.axis,
            members=np.concatenate(members),
            sources=np.repeat(np.arange(len(rows)), stops - firsts),
        )

        def compute_group(
            graph: LocalGraph, group: Changes
        ) -> tuple[Integers, NDArray[np.float32]]:
            inputs = group.slice(part.array, network.axis, origin.inputs)
            ends = graph.run_changed(inputs, self._known, origin)
            return group.members, graph.finish(ends, self._known)

        size = _GROUP_BATCHES * network.graph.batch_size
        self._found += network.run_on_threads(compute_group, [*changes.split(size)])

    def join(self) -> NDArray[np.float32]:
        """Return the outputs of all alternatives."""
        if not self._found:
            return np.empty((0, *self._network.graph.output_shape), np.float32)
        members, outputs = zip(*self._found, strict=True)
        found = np.concatenate(outputs).astype(np.float32, copy=False)
        made = np.empty_like(found)
        made[np.concatenate(members)] = found
        return made


def _count_rows(length: int) -> int:
    """Return the number of sequences that are computed together."""
    return max(2, min(_MAX_BATCH, _MAX_WHOLE_POSITIONS // length))
