"""Print the source files of six typical calls, in the order of first use.

`python tests/measure_calls.py` trains a small network in a temporary folder. Each call runs
twice, and only the second run is recorded, so that imports do not count.
"""

import contextlib
import io
import os
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import seqloom as sl
from seqloom.cli import main as seqloom_command

PACKAGE_FOLDER = Path(sl.__file__).parent


class Recorder:
    """Records the package files whose functions are called before `stop`."""

    def __init__(self, stop: str = "") -> None:
        self.files: dict[str, None] = {}
        self._stop = stop
        self._is_on = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Record the file of a call; `stop` is `file.py:function`."""
        path = Path(frame.f_code.co_filename)
        if not self._is_on or event != "call" or PACKAGE_FOLDER not in path.parents:
            return
        name = str(path.relative_to(PACKAGE_FOLDER))
        self.files[name] = None
        if self._stop == f"{name}:{frame.f_code.co_name}":
            self._is_on = False

    def start(self) -> None:
        """Start to record files, in all threads."""
        self._is_on = True
        threading.setprofile(self)
        sys.setprofile(self)

    def end(self) -> None:
        """Stop recording files."""
        self._is_on = False
        sys.setprofile(None)
        threading.setprofile(None)


@contextlib.contextmanager
def recorded(title: str, stop: str = "") -> Generator[None]:
    """Print the files that the block uses."""
    recorder = Recorder(stop)
    recorder.start()
    try:
        yield
    finally:
        recorder.end()
        print(f"{len(recorder.files):3} {title}: {' '.join(recorder.files)}\n")


def main() -> None:
    """Run the six typical calls, and print the files that each call uses."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        rng = np.random.default_rng(0)
        reads = ["".join(rng.choice(list("ACGT"), 60)) for _ in range(200)]
        Path("a.fa").write_text("".join(f">s{i}\n{it}\n" for i, it in enumerate(reads)))
        rows = "".join(
            f"s{i}\t{'yes' if 'GG' in it else 'no'}\n" for i, it in enumerate(reads)
        )
        Path("a.tsv").write_text(f"id\tlabel\n{rows}")
        _record_batch()
        _record_softmax()
        _record_step()
        _record_train()
        _record_predict()
        _record_embed()


def _record_batch() -> None:
    data = sl.data.SequenceDataset("a.fa", encoder=sl.encode.OneHot("dna"))
    part = sl.data.split(data, (0.8, 0.2))[0]
    batches = iter(sl.data.DataLoader(part, 16, num_workers=2))
    next(batches)
    with recorded("DataLoader.__next__"):
        next(batches)


def _record_softmax() -> None:
    scores = sl.tensor.backend("numpy").tensor(np.zeros((4, 8), np.float32))
    sl.nn.functional.softmax(scores, 1)
    with recorded("softmax"):
        sl.nn.functional.softmax(scores, 1)


def _record_step() -> None:
    """Record one training step: from the third call of the network to the fourth."""
    recorder = Recorder()
    calls = 0

    class Network(sl.nn.Module):
        layer: sl.nn.Linear

        def __init__(self) -> None:
            self.layer = sl.nn.Linear(240, 2)

        def __call__(self, inputs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 3:
                recorder.start()
            elif calls == 4:
                recorder.end()
            return self.layer(inputs.reshape(inputs.shape[0], -1))

    data = sl.data.SequenceDataset("a.fa", encoder=sl.encode.OneHot("dna"), labels="a.tsv")
    sl.train.fit(
        Network(),
        data,
        epochs=1,
        batch_size=16,
        backend=sl.train.Computation(compile=False),
    )
    print(f"{len(recorder.files):3} a step of fit: {' '.join(recorder.files)}\n")


def _record_train() -> None:
    command = ["train", "a.fa", "--labels", "a.tsv", "--epochs", "1", "--quiet", "--out"]
    _call([*command, "run1"])
    with recorded("seqloom train, to fit", stop="train/_fit.py:fit"):
        _call([*command, "run2"])


def _record_predict() -> None:
    sl.infer.predict("run1", "a.fa")
    with recorded("predict"):
        sl.infer.predict("run1", "a.fa")


def _record_embed() -> None:
    Path("p.fa").write_text(">x\nMKTA\n>y\nMK\n")
    recorder = Recorder()

    def model(batch: dict[str, Any]) -> np.ndarray:
        recorder.end()
        return np.eye(33, dtype=np.float32)[batch["input_ids"]]

    sl.infer.embed(model, "p.fa", out="out1")
    recorder.start()
    sl.infer.embed(model, "p.fa", out="out2")
    print(f"{len(recorder.files):3} embed, to the model: {' '.join(recorder.files)}\n")


def _call(arguments: list[str]) -> None:
    """Run a command in this process, without its output."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        seqloom_command(arguments)


if __name__ == "__main__":
    main()
