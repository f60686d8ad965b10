"""Platform-specific code is in one package, and seqloom runs without Linux functions."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import seqloom
from seqloom._system import exchange_files, lock_file, rename_without_replacing

PACKAGE_FOLDER = Path(seqloom.__file__).parent
# Modules that Windows lacks, and functions with other behaviour on Windows.
PLATFORM_SPECIFIC_CODE = re.compile(
    r"\bimport (?:fcntl|resource|termios|pwd|grp)\b|ctypes\.CDLL|select\.poll\b"
    r"|\bos\.(?:O_NOFOLLOW|chown|fdatasync|fork|getloadavg|geteuid|getuid|kill|pread|pwrite"
    r"|register_at_fork|sched_getaffinity|sysconf|uname)\b"
    r"|signal\.(?:SIGHUP|SIGKILL|SIGUSR|SIGXCPU|alarm|pthread_|setitimer)"
)
WINDOWS_SCRIPT = """
import sys
import as_windows

as_windows.hide()
from pathlib import Path
import seqloom as sl
from seqloom import _demo


def main():
    train = sl.data.SequenceDataset(
        _demo.example_path("train.fa.gz"), labels=_demo.example_path("train.tsv"),
        encoder=sl.encode.OneHot("dna"),
    )
    small = sl.data.Subset(train, range(300))
    loader = sl.data.DataLoader(small, batch_size=50, num_workers=2)
    assert sum(len(batch["label"]) for batch in loader) == 300
    config = sl.models.SequenceCNNConfig.for_data(train)
    out = sl.train.RunFolder("run", overwrite=True, report=False)
    for _ in range(2):  # the second run replaces the files of the first
        sl.train.fit(config, small, epochs=2, out=out)
    model = sl.models.load("run")
    scores = sl.infer.predict(model, _demo.example_path("test.fa.gz")).to_numpy()
    assert abs(scores.sum(axis=1) - 1).max() < 1e-5
    for _ in range(2):
        sl.export.save(model, "model.seqloom", overwrite=True)
    left = [str(path) for path in Path().rglob("*.part")]
    assert not left, left
    print(*scores.shape, sys.platform)


if __name__ == "__main__":
    main()
"""


def test_only_seqloom_system_uses_platform_specific_functions():
    files = [path for path in PACKAGE_FOLDER.rglob("*.py") if path.parent.name != "_system"]
    uses = {
        path.name: PLATFORM_SPECIFIC_CODE.findall(path.read_text("utf-8")) for path in files
    }
    assert {name: found for name, found in uses.items() if found} == {}


def test_without_linux_functions_a_model_is_trained_applied_and_exported(tmp_path):
    (tmp_path / "script.py").write_text(WINDOWS_SCRIPT)
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("1186 3 win32\n", 0), done.stderr


def test_a_lock_of_another_handle_is_an_immediate_error(tmp_path):
    handles = [os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT) for _ in range(2)]
    lock_file(handles[0])
    with pytest.raises(BlockingIOError):
        lock_file(handles[1], wait=False)
    for handle in handles:
        os.close(handle)


def test_exchange_files_exchanges_two_names(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    if not exchange_files(one, other):
        pytest.skip("this file system exchanges no names")
    assert (one.read_text(), other.read_text()) == ("2", "1")


def test_rename_new_does_not_replace_a_file(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    code = rename_without_replacing(one, other)
    if code in {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}:
        pytest.skip("this file system has no rename that replaces nothing")
    assert (code, other.read_text()) == (errno.EEXIST, "2")
