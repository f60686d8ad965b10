"""Score a FASTQ file with a Python loop: dnaio, NumPy and ONNX Runtime."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

_BASE_CODES = np.full(256, 4)
_BASE_CODES[np.frombuffer(b"ACGT", np.uint8)] = range(4)
_ONE_HOT_TABLE = np.eye(5, dtype="float32")[:, :4]
_READS_PER_BATCH = 256


def main() -> None:
    """Score the reads of a file with a typical Python loop."""
    network, reads, out, threads = sys.argv[1:]
    session = _open_reads(network, int(threads))
    with Path(out).open("w") as table:
        table.write("id\ta\tb\tc\n")
        for ids, letters in _read_batches(reads):
            inputs = np.ascontiguousarray(
                _ONE_HOT_TABLE[_BASE_CODES[letters]].swapaxes(1, 2)
            )
            rows = _softmax(session.run(None, {"inputs": inputs})[0])
            lines = zip(ids, rows, strict=True)
            table.writelines(
                "\t".join([name, *map(str, row)]) + "\n" for name, row in lines
            )


def _open_reads(network: str, threads: int) -> Any:
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(network, options, ["CPUExecutionProvider"])


def _read_batches(reads: str) -> Any:
    """Yield ids and bases of batches of reads with equal length."""
    dnaio = import_module("dnaio")
    ids, rows = list[str](), list[bytes]()
    with dnaio.open(reads) as file:
        for read in file:
            ids.append(read.id)
            rows.append(read.sequence.encode())
            if len(rows) == _READS_PER_BATCH:
                yield ids, _stack_bases(rows)
                ids, rows = [], []
    if rows:
        yield ids, _stack_bases(rows)


def _stack_bases(rows: list[bytes]) -> Any:
    """Return the bases as an array ``(n, l)``."""
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)


def _softmax(outputs: Any) -> Any:
    """Return the probabilities of the classes."""
    powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    main()
