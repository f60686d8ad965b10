"""Worker processes run custom code, crash, and end."""

import gc
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faults._apart import run_apart

import loader_user as user
from seqloom._threads import supports_threads
from seqloom.data import DataLoader, PadCollator
from seqloom.errors import ArgumentError, WorkerError
from waiting import wait_until

SHARED_MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108 - what is left there is the question
START_METHODS = ["fork", "forkserver", "spawn"]
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def loader(collate=user.plain, size=40, batch_size=4, **options):
    chosen: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": "fork"} | options
    if not chosen["num_workers"]:
        del chosen["multiprocessing_context"]
    return DataLoader(range(size), batch_size, collate_fn=collate, **chosen)


@pytest.mark.parametrize("method", START_METHODS)
def test_batches_do_not_depend_on_the_start_method_of_workers(method):
    batches = list(loader(shuffle=True, multiprocessing_context=method))
    assert batches == list(loader(shuffle=True, num_workers=0))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_batches_of_a_custom_dataset_do_not_depend_on_the_number_of_workers(workers):
    options: dict[str, Any] = {"shuffle": True, "batch_size": 3}
    here = DataLoader(user.Squares(20), **options)
    there = DataLoader(
        user.Squares(20), num_workers=workers, multiprocessing_context="fork", **options
    )
    for _ in range(2):
        for one, other in zip(here, there, strict=True):
            np.testing.assert_equal(one, other)


def test_loaders_run_custom_code_in_processes_and_rust_in_threads():
    pids = {pid for pid, _ in loader(user.with_pid)}
    assert os.getpid() not in pids
    assert len(pids) == 2
    assert {pid for pid, _ in loader(user.with_pid, num_workers=0)} == {os.getpid()}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_loader_worker_that_dies_is_restarted_without_data_loss(tmp_path, number):
    collate = user.DiesOnce(tmp_path, {0, 5, 6, 21, 39}, number)
    batches = np.concatenate(list(loader(collate)))
    assert batches.tolist() == list(range(40))
    assert len(list(tmp_path.iterdir())) == 5


def test_a_worker_killed_from_outside_does_not_change_batches():
    batches = loader(user.with_pid, size=60)
    got = []
    for number, (pid, items) in enumerate(batches):
        got += items
        # The worker that made this batch may already have died.
        if number in {0, 3, 7}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert got == list(range(60))


def test_three_worker_crashes_on_one_batch_are_an_error():
    with pytest.raises(
        WorkerError,
        match=r"died 3 times \(killed by SIGKILL\), while working on records 4, 5, 6, 7",
    ):
        list(loader(user.dies_at_seven))


def test_the_error_for_a_hanging_worker_names_its_process_and_records():
    with pytest.raises(
        WorkerError,
        match=r"\(pid \d+\) has not answered for 0.5 seconds, while working on records 4",
    ):
        list(loader(user.hangs_at_seven, timeout=0.5))


def test_a_suspended_worker_is_an_error_after_the_timeout():
    batches = iter(loader(user.with_pid, size=4000, timeout=0.5))
    pid, _ = next(batches)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(WorkerError, match=f"pid {pid}"):
        list(batches)


@pytest.mark.parametrize(
    ("collate", "kind", "text"),
    [
        (user.raises_key_error, KeyError, "0"),
        (user.raises_odd, user.OddError, "0 and that"),
        (user.exits, SystemExit, "3"),
        (user.gives_a_lambda, AttributeError, "lambda"),
        (user.warns, UserWarning, "careful"),
        (user.is_interrupted, KeyboardInterrupt, "by hand"),
    ],
)
def test_a_worker_exception_keeps_its_type_and_traceback(collate, kind, text):
    with pytest.raises(kind, match=text) as caught:
        list(loader(collate))
    assert "loader_user.py" in str(caught.value.__cause__) or collate is user.gives_a_lambda
    assert "records 0, 1, 2, 3" in caught.value.__notes__[0]


@pytest.mark.parametrize(("method", "mode"), [("spawn", "size=64k"), ("fork", "ro")])
def test_a_loader_with_workers_needs_no_shared_memory(tmp_path, method, mode):
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("only root may mount a file system for one process")
    (tmp_path / "script.py").write_text(_SUM_SCRIPT)
    shell = 'mount -t tmpfs -o "$0" tmpfs /dev/shm && exec "$@"'
    words = [sys.executable, tmp_path / "script.py", method]
    done = subprocess.run(
        [unshare, "--mount", "sh", "-c", shell, mode, *words],
        check=False, capture_output=True, text=True, env=_environment(),
    )  # fmt: skip
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip("this machine does not let root mount a file system")
    assert (done.stdout, done.stderr) == ("3990000 16000\n", "")


def test_a_stored_loader_exception_does_not_keep_workers_alive():
    before = {*multiprocessing.active_children()}
    with pytest.raises(KeyError) as caught:
        list(loader(user.raises_key_error))
    assert caught.traceback
    assert {*multiprocessing.active_children()} <= before


def test_a_collate_fn_that_cannot_be_pickled_is_an_error_with_a_remedy():
    with pytest.raises(
        ArgumentError,
        match=r"collate_fn cannot be sent to a worker process.*at the top of a module",
    ):
        list(loader(lambda items: items, multiprocessing_context="spawn"))


def _environment():
    """Return environment variables with which a process can import the test modules."""
    paths = os.pathsep.join([str(Path(user.__file__).parent), *filter(None, sys.path)])
    return os.environ | {"PYTHONPATH": paths}


def _run(tmp_path, text, *args):
    script = tmp_path / "script.py"
    script.write_text(text)
    return subprocess.Popen(
        [sys.executable, str(script), *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(),
    )


def test_a_spawning_script_without_a_main_guard_is_an_error(tmp_path):
    text = (
        "import loader_user\nfrom seqloom.data import DataLoader\n"
        "print(list(DataLoader(range(9), collate_fn=loader_user.plain, num_workers=2)))\n"
    )
    process = _run(tmp_path, text)
    _, errors = process.communicate(timeout=60)
    assert errors.count("Traceback") == 1
    assert "WorkerError: the main script starts worker processes" in errors
    assert 'if __name__ == "__main__":' in errors


_SUM_SCRIPT = """
import sys, loader_user
from seqloom.data import DataLoader
if __name__ == "__main__":
    loader = DataLoader(range(400), 40, collate_fn=loader_user.arrays, num_workers=2,
                        multiprocessing_context=sys.argv[1])
    arrays = [batch["x"] for batch in loader]
    print(int(sum(each.sum() for each in arrays)), arrays[0].nbytes)
"""

_SLOW_LOADER_SCRIPT = """
import sys, loader_user
from seqloom.data import DataLoader
if __name__ == "__main__":
    loader = DataLoader(range(10**6), 1, collate_fn=loader_user.with_pid, num_workers=2,
                        multiprocessing_context=sys.argv[1])
    pids = set()
    for pid, _ in loader:
        pids.add(pid)
        if len(pids) == 2:
            print(*pids, flush=True)
            pids.add(0)
"""


def _is_running(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def shared_memory_files():
    """Return the files in shared memory, except those that `make faults` creates."""
    return {
        it
        for it in SHARED_MEMORY_FOLDER.iterdir()
        if not it.name.startswith("seqloom-faults-")
    }


@pytest.mark.parametrize("method", START_METHODS)
def test_a_killed_program_leaves_no_workers_and_no_shared_memory(tmp_path, method):
    before = shared_memory_files()
    process = _run(tmp_path, _SLOW_LOADER_SCRIPT, method)
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    process.kill()
    process.communicate()
    # Python's resource tracker removes semaphores after the last process has ended.
    wait_until(lambda: not any(map(_is_running, pids)) and shared_memory_files() <= before)


_GIL_HOLDING_SCRIPT = """
import loader_user
from seqloom.data import DataLoader
if __name__ == "__main__":
    next(iter(DataLoader(range(4), 1, collate_fn=loader_user.holds_the_interpreter,
                         num_workers=1, multiprocessing_context="spawn")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child for us")
def test_a_worker_that_holds_the_gil_ends_with_its_parent_process(tmp_path):
    process = _run(tmp_path, _GIL_HOLDING_SCRIPT)
    pid = int(process.stdout.readline())
    process.kill()
    process.communicate()
    wait_until(lambda: not _is_running(pid))


def test_ctrl_c_ends_a_script_and_its_workers_without_messages(tmp_path):
    process = _run(tmp_path, _SLOW_LOADER_SCRIPT, "spawn")
    pids = [int(pid) for pid in process.stdout.readline().split()]
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert errors.count("Traceback") == 1
    assert "KeyboardInterrupt" in errors
    assert not any(map(_is_running, pids))


def test_persistent_workers_also_make_batches_of_the_next_epoch():
    batches = loader(user.with_pid, persistent_workers=True)
    first, second = ({pid for pid, _ in batches} for _ in range(2))
    batches.close()
    assert first == second
    assert not any(map(_is_running, first))


def test_persistent_workers_end_with_their_loader():
    batches = loader(user.with_pid, persistent_workers=True)
    pids = {pid for pid, _ in batches}
    del batches
    gc.collect()
    assert not any(map(_is_running, pids))


def test_a_collate_fn_with_supports_threads_runs_in_threads():
    found = DataLoader(range(8), 2, collate_fn=user.SharedPid(), num_workers=2)
    assert {pid for pid, _ in found} == {os.getpid()}


def test_a_dataset_subclass_does_not_inherit_supports_threads():
    assert supports_threads(user.SharedPid())
    assert not supports_threads(user.LaterPid())
    assert not supports_threads(PadCollator(encoder=user.LaterPid()))


def test_persistent_workers_resume_from_any_state():
    whole = [batch.tolist() for batch in loader(np.array, shuffle=True, num_workers=0)]
    batches = loader(np.array, shuffle=True, persistent_workers=True)
    found = []
    for steps in (0, 1, 3, 2, 4):
        epoch = iter(batches)
        found += [next(epoch).tolist() for _ in range(steps)]
        batches.load_state_dict(batches.state_dict())
    batches.close()
    assert found == whole


def test_persistent_workers_discard_an_unfinished_epoch():
    batches = loader(user.with_pid, persistent_workers=True, shuffle=True)
    next(iter(batches))
    epoch = [items for _, items in batches]
    batches.close()
    assert sorted(chain.from_iterable(epoch)) == list(range(40))
    again = loader(shuffle=True, num_workers=0)
    again.set_epoch(1)
    assert epoch == list(again)


def test_loader_workers_end_with_the_epoch():
    pids = {pid for pid, _ in loader(user.with_pid)}
    assert not any(map(_is_running, pids))


def test_stopping_a_loader_early_ends_its_workers():
    batches = iter(loader(user.with_pid))
    pid, _ = next(batches)
    batches.close()
    assert not _is_running(pid)


def test_a_loader_worker_receives_its_number_and_uses_one_thread():
    found = set(loader(user.noted, worker_init_fn=user.note_number))
    assert found == {("0", "1"), ("1", "1")}


def test_batches_larger_than_a_pipe_buffer_are_complete():
    big = np.arange(12).repeat(200_000).reshape(12, 200_000)
    batches = DataLoader(
        [*big], 3, collate_fn=np.stack, num_workers=2, multiprocessing_context="fork"
    )
    np.testing.assert_equal(np.concatenate(list(batches)), big)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_each_worker_reads_all_of_an_iterable_as_in_pytorch(workers):
    options: dict[str, Any] = {"num_workers": workers} | (
        {"multiprocessing_context": "fork"} if workers else {}
    )
    found = [int(x) for batch in DataLoader(user.Counter(7), 3, **options) for x in batch]
    assert sorted(found) == sorted([*range(7)] * max(1, workers))


def test_a_loader_of_an_iterable_resumes_after_the_last_batch():
    options: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": "fork"}
    whole = [batch.tolist() for batch in DataLoader(user.Counter(17), 3, **options)]
    source = DataLoader(user.Counter(17), 3, **options)
    batches = iter(source)
    next(batches), next(batches), next(batches)
    again = DataLoader(user.Counter(17), 3, **options)
    again.load_state_dict(source.state_dict())
    assert [batch.tolist() for batch in again] == whole[3:]


def test_a_worker_that_exits_in_its_first_batch_counts_as_started():
    loader = DataLoader(
        range(3),
        3,
        num_workers=1,
        collate_fn=user.ends_at_once,
        multiprocessing_context="fork",
    )
    with pytest.raises(WorkerError, match=r"died 3 times \(exit code 3\)"):
        list(loader)


@pytest.mark.parametrize("shared", [False, True], ids=["processes", "threads"])
def test_continuing_a_loader_epoch_in_a_forked_process_is_an_error(shared):
    class Shared(user.Squares):
        supports_threads = shared

    made = DataLoader(Shared(40), 4, num_workers=2, multiprocessing_context="fork")
    batches = iter(made)
    next(batches)
    behind = run_apart(lambda: next(batches))
    assert behind.error.startswith("WorkerError: an epoch that began before a fork")
    assert run_apart(lambda: len(list(made))).value == 10
    assert len(list(batches)) == 9
