"""Layouts that an earlier process has kept: the same program, or none at all."""

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from counted_calls import calls_of
from seqloom.errors import ArgumentError
from seqloom.tensor._compile import Graph, Operation, Value
from seqloom.tensor._compile._numpy import NumPyProgram
from seqloom.tensor._compile._numpy._identity import GraphText
from seqloom.tensor.backends._numpy import NumPyBackend

B = sl.tensor.backend("numpy")
TESTS = Path(__file__).parents[2]
STEP = TESTS / "kept_step.py"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where layouts are kept in this test."""
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path))
    monkeypatch.setenv("SEQLOOM_PROGRAMS", "1")
    return tmp_path / "programs"


def chain(count=40, *, factor: Any = 2.0, shape=(5,), dtype="float32"):
    """Sums along the axis and products in turn: groups, and singles between them."""
    values = [Value(0, shape, np.dtype(dtype))]
    operations = []
    for number in range(1, count + 1):
        x, out = values[-1], Value(number, shape, np.dtype(dtype))
        name, args = ("multiply", (x, factor)) if number % 3 else ("cumulative_sum", (x,))
        operations.append(Operation(name, args, {}, (out,)))
        values.append(out)
    return Graph(values[:1], operations=operations, outputs=values[-1:])


def only_file(folder):
    (path,) = folder.iterdir()
    return path


def in_process(*arguments, **variables):
    """What the step gives in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": python_path(), **variables}
    command = [sys.executable, "-W", "error", str(STEP), *arguments]
    return subprocess.check_output(command, env=environment, text=True)


def python_path():
    return os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.parametrize("name", ["CNN", "encoder"])
def test_a_step_has_the_same_bits_without_kept_programs_at_first_and_again(folder, name):
    without = in_process(name, SEQLOOM_PROGRAMS="0")
    assert [in_process(name), in_process(name)] == [without, without]


def test_the_second_process_writes_nothing(folder):
    in_process("encoder")
    before = {each: each.stat().st_ino for each in folder.iterdir()}
    in_process("encoder")
    assert {each: each.stat().st_ino for each in folder.iterdir()} == before


def test_what_was_kept_is_the_plan_that_is_made_without(folder, monkeypatch):
    first, again = str(NumPyProgram(chain(), B)), str(NumPyProgram(chain(), B))
    monkeypatch.setenv("SEQLOOM_PROGRAMS", "0")
    assert first == again == str(NumPyProgram(chain(), B))


def test_numbers_of_values_do_not_matter(folder):
    NumPyProgram(chain(), B)
    other = Graph()
    values = {}
    for old in (*chain().inputs, *(each.outputs[0] for each in chain().operations)):
        values[old.number] = Value(1000 - old.number, old.shape, old.dtype)
    other.inputs, other.outputs = [values[0]], [values[40]]
    other.operations = [
        Operation(
            each.name,
            (values[each.args[0].number], *each.args[1:]),
            {},
            (values[each.outputs[0].number],),
        )
        for each in chain().operations
    ]
    x = np.arange(5, dtype=np.float32)
    found = NumPyProgram(other, B)([x])[0]
    assert len(list(folder.iterdir())) == 1
    np.testing.assert_array_equal(found, NumPyProgram(chain(), B)([x])[0])


def test_the_body_of_a_loop_is_kept_too(folder, monkeypatch):
    def made():
        body, kind = chain(), np.dtype("float32")
        x, out = Value(100, (5,), kind), Value(101, (5,), kind)
        options = {"body": body, "length": 3, "reverse": False}
        loop = Operation("scan", ([x], [], []), options, (out,))
        return NumPyProgram(Graph([x], operations=[loop], outputs=[out]), B)

    x = np.linspace(0, 1e-9, 5, dtype=np.float32)
    cold, warm = made()([x])[0], made()([x])[0]
    only_file(folder)
    monkeypatch.setenv("SEQLOOM_PROGRAMS", "0")
    assert cold.tobytes() == warm.tobytes() == made()([x])[0].tobytes()


@pytest.mark.parametrize("length", [0, 1, 30, 200])
def test_a_cut_file_is_told_and_made_again(folder, length):
    wanted = str(NumPyProgram(chain(), B))
    path = only_file(folder)
    whole = path.read_bytes()
    path.write_bytes(whole[:length])
    with pytest.warns(RuntimeWarning, match=f"{path.name}.*damaged"):
        assert str(NumPyProgram(chain(), B)) == wanted
    assert path.read_bytes() == whole


def test_any_changed_byte_is_told_or_harmless(folder):
    wanted = str(NumPyProgram(chain(), B))
    path = only_file(folder)
    whole = path.read_bytes()
    told = 0
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assert str(NumPyProgram(chain(), B)) == wanted
        told += len(found)
    assert told == len(range(0, len(whole), 7))


def test_a_file_of_another_program_is_told_and_replaced(folder):
    NumPyProgram(chain(), B)
    first = only_file(folder)
    wanted = str(NumPyProgram(chain(50), B))
    (second,) = set(folder.iterdir()) - {first}
    second.write_bytes(first.read_bytes())
    with pytest.warns(RuntimeWarning, match="belongs to another program"):
        assert str(NumPyProgram(chain(50), B)) == wanted


def test_the_warning_names_the_line_that_compiles(folder):
    def step(x):
        for _ in range(40):
            x = sl.tensor.apply("cumulative_sum", x * 2.0, axis=0)
        return x

    x = B.tensor([1.0, 2.0])
    sl.tensor.compile(step)(x)
    only_file(folder).write_bytes(b"{}\n")
    with pytest.warns(RuntimeWarning) as found:
        sl.tensor.compile(step)(x)
    assert found[0].filename == __file__


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [(("encoder", "9.9"), {}), (("encoder",), {"SEQLOOM_SIMD": "portable"})],
    ids=["version", "processor"],
)
def test_another_version_or_processor_makes_its_own(folder, arguments, variables):
    in_process("encoder")
    before = set(folder.iterdir())
    in_process(*arguments, **variables)
    assert before < set(folder.iterdir())


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null", "/dev/full"])
def test_where_no_folder_can_be_nothing_is_kept_and_nothing_fails(
    folder, monkeypatch, place
):
    wanted = str(NumPyProgram(chain(), B))
    monkeypatch.setenv("SEQLOOM_CACHE", place)
    assert str(NumPyProgram(chain(), B)) == wanted


@pytest.fixture
def foreign(monkeypatch):
    """A folder with a kept layout, which this process may read and not write."""
    home = Path(mkdtemp())  # pytest's own folders are closed to others
    monkeypatch.setenv("SEQLOOM_CACHE", str(home))
    monkeypatch.setenv("SEQLOOM_PROGRAMS", "1")
    NumPyProgram(chain(), B)
    home.chmod(0o755)
    (home / "programs").chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # root may write everywhere
    yield home / "programs"
    os.seteuid(user)
    (home / "programs").chmod(0o755)
    rmtree(home)


def test_a_read_only_folder_serves_what_it_holds(foreign):
    without = calls_of(lambda: NumPyProgram(chain(50), B))  # not there, and not kept
    assert calls_of(lambda: NumPyProgram(chain(), B)) < 0.75 * without


def test_a_read_only_folder_takes_nothing_and_nothing_fails(foreign):
    NumPyProgram(chain(50), B)
    only_file(foreign)
    with pytest.raises(PermissionError):
        (foreign / "x").write_text("")


def test_files_of_others_are_left_alone(folder):
    folder.mkdir(parents=True)
    theirs = folder / "mine.tar"
    theirs.touch()
    os.truncate(theirs, 70_000_000)
    NumPyProgram(chain(), B)
    assert theirs.exists()


@pytest.mark.parametrize(
    "put", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("elsewhere.json")]
)
def test_what_is_no_file_is_neither_read_nor_replaced(folder, put):
    expected = str(NumPyProgram(chain(), B))
    path = only_file(folder)
    path.unlink()
    put(path)
    kind = path.lstat().st_mode
    assert (str(NumPyProgram(chain(), B)), path.lstat().st_mode) == (expected, kind)


def test_a_file_of_brackets_is_damaged(folder):
    expected = str(NumPyProgram(chain(), B))
    only_file(folder).write_bytes(b"[" * 100_000)
    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert str(NumPyProgram(chain(), B)) == expected


def test_seqloom_programs_is_0_or_1(folder, monkeypatch):
    monkeypatch.setenv("SEQLOOM_PROGRAMS", "off")
    with pytest.raises(
        ArgumentError, match=r"SEQLOOM_PROGRAMS is 'off'; set it to 1 .* or to 0"
    ):
        NumPyProgram(chain(), B)


def test_a_killed_writer_leaves_a_whole_file_or_none(folder):
    code = (
        "from test_kept_layouts import *\n"
        "from shutil import rmtree\n"
        "while True:\n"
        "    print(len(str(NumPyProgram(chain(300), B))), flush=True)\n"
        "    rmtree(os.environ['SEQLOOM_CACHE'] + '/programs')\n"
    )
    path = os.pathsep.join([str(Path(__file__).parent), python_path()])
    wanted = str(NumPyProgram(chain(300), B))
    for delay in (0.0, 0.003, 0.007, 0.011):
        command = [sys.executable, "-c", code]
        writer = subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        assert str(NumPyProgram(chain(300), B)) == wanted  # a warning would be an error


def test_processes_that_start_at_once_agree(folder):
    environment = {**os.environ, "PYTHONPATH": python_path()}
    command = [sys.executable, "-W", "error", str(STEP), "encoder"]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(4)
    ]
    printed = {each.communicate()[0] for each in started}
    assert len(printed) == 1
    assert {each.returncode for each in started} == {0}


def test_the_files_used_longest_ago_make_room(folder):
    folder.mkdir()
    for number in range(600):
        old = folder / f"{number:032x}.json"
        old.write_text("old")
        os.utime(old, (number, number))
    NumPyProgram(chain(), B)
    left = {each.stem for each in folder.iterdir()}
    assert len(left) == 512
    assert f"{599:032x}" in left
    assert f"{88:032x}" not in left


def test_switched_off_nothing_is_kept(folder, monkeypatch):
    monkeypatch.setenv("SEQLOOM_PROGRAMS", "0")
    NumPyProgram(chain(), B)
    assert not folder.exists()


def test_the_programs_of_a_users_backend_are_not_kept(folder):
    class Own(NumPyBackend):
        pass

    NumPyProgram(chain(), Own())
    assert not folder.exists()


OTHERS = {
    "shape": chain(shape=(6,)),
    "type": chain(dtype="float64"),
    "length": chain(41),
    "number": chain(factor=3.0),
    "integer": chain(factor=2),
    "truth": chain(factor=True),
    "NumPy's number": chain(factor=np.float32(2)),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_another_graph_has_another_name(other):
    assert GraphText(other).digest() != GraphText(chain()).digest()


def test_the_versions_are_in_the_name():
    identity = GraphText(chain())
    assert identity.digest("1") != identity.digest("2")
