"""Several runs use one folder, while one run is active or was killed."""

import os
import signal
import time
from functools import partial

import pytest
from faults._apart import run_apart, start_apart
from faults._job_writers import CONFIG, _dataset
from faults._story import digest, names

import seqloom as sl
from fit_arguments import as_arguments
from simultaneous_processes import race

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


class Waiting:
    """A callback that blocks the third step of a run until a file exists."""

    def __init__(self, place):
        self.begun, self.over = place / "begun", place / "over"

    def on_batch(self, step):
        if step.batch == 3:
            half = self.begun.with_name(
                "half"
            )  # the waiting process must read a complete file
            half.write_text(str(os.getpid()))
            half.rename(self.begun)
            while not self.over.exists():
                time.sleep(0.01)


def fit(place, *watchers, **options):
    data = _dataset(place / "train.fa")
    sl.train.fit(
        CONFIG,
        data,
        data,
        **as_arguments(
            out=place / "run",
            epochs=2,
            batch_size=8,
            num_threads=1,
            checkpoint_every=2,
            report=False,
            progress=False,
            callbacks=watchers,
            **options,
        ),
    )


def begin(place, *watchers):
    """Start a run, and wait until it is blocked."""
    _dataset(place / "train.fa")
    running = start_apart(lambda: fit(place, Waiting(place), *watchers))
    while not (place / "begun").exists():
        time.sleep(0.01)
    return running, int((place / "begun").read_text())


def read_run(place):
    return digest(place / "run/model.safetensors", place / "run/scores-valid.tsv")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return the output of an undisturbed run."""
    place = tmp_path_factory.mktemp("alone")
    assert str(run_apart(lambda: fit(place))) == "gave None"
    return read_run(place), names(place / "run")


@pytest.mark.parametrize("how", [{}, {"resume": True}, {"overwrite": True}], ids=str)
def test_the_error_for_a_folder_in_use_names_the_other_process(tmp_path, undisturbed, how):
    running, first = begin(tmp_path)
    second = run_apart(lambda: fit(tmp_path, **how))
    (tmp_path / "over").touch()
    assert second.error.startswith("RunFolderError")
    assert f"{tmp_path}/run: is in use by another run (process {first} " in (second.error)
    assert "choose another folder (out=, --out)" in second.error
    assert str(running.finish()) == "gave None"
    assert (read_run(tmp_path), names(tmp_path / "run")) == undisturbed


def test_a_model_cannot_be_saved_into_the_folder_of_an_active_run(tmp_path):
    running, first = begin(tmp_path)
    task = sl.models.Classify(("no", "yes"))
    model = sl.models.Trained(CONFIG.init("numpy").eval(), sl.encode.OneHot("dna"), task, 1)
    with pytest.raises(sl.errors.RunFolderError, match=f"process {first} "):
        model.save(tmp_path / "run", overwrite=True)
    (tmp_path / "over").touch()
    assert str(running.finish()) == "gave None"


def test_a_killed_run_does_not_block_its_folder(tmp_path, undisturbed):
    running, first = begin(tmp_path)
    os.kill(first, signal.SIGKILL)
    assert running.finish().is_killed
    assert str(run_apart(lambda: fit(tmp_path, resume=True))) == "gave None"
    assert (read_run(tmp_path), names(tmp_path / "run")) == undisturbed


class Forking:
    """A callback that leaves a process running, like a loader's worker."""

    def on_batch(self, step):
        if step.batch == 1 and not os.fork():
            time.sleep(20)
            os._exit(0)


def test_a_worker_of_a_killed_run_does_not_block_its_folder(tmp_path, undisturbed):
    # Do not read the pipe of `running`, because the forked child process keeps it open.
    running, first = begin(tmp_path, Forking())
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    running.pipe.close()
    assert str(run_apart(lambda: fit(tmp_path, resume=True))) == "gave None"
    assert (read_run(tmp_path), names(tmp_path / "run")) == undisturbed


@pytest.mark.parametrize("races", [3, pytest.param(60, marks=pytest.mark.soak)])
@pytest.mark.parametrize("is_resumed", [False, True], ids=["begun", "resumed"])
def test_one_of_two_concurrent_runs_in_a_folder_finishes(
    tmp_path, undisturbed, races, is_resumed
):
    for number in range(races):
        place = tmp_path / f"race{number}"
        place.mkdir()
        if is_resumed:
            running, first = begin(place)
            os.kill(first, signal.SIGKILL)
            running.finish()
        else:
            _dataset(place / "train.fa")
        run = partial(fit, place, resume=is_resumed)
        ended = [str(it) for it in race(run, run)]
        good = [said for said in ended if said == "gave None"]
        refused = [said for said in ended if said.startswith("RunFolderError")]
        # If the other run has finished, the resumed run has nothing to do.
        assert len(good) >= 1
        assert len(good) + len(refused) == 2, ended
        assert is_resumed or len(good) == 1
        assert (read_run(place), names(place / "run")) == undisturbed
