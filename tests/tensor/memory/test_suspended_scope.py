"""Scopes of suspended code: generators, tasks and threads."""

import asyncio
import contextlib

import seqloom as sl
from seqloom.errors import ReleasedError
from seqloom.tensor._origin import innermost

NUMPY = sl.tensor.backend("numpy", num_threads=1)


def is_released(tensor):
    try:
        tensor.shape  # noqa: B018
    except ReleasedError:
        return True
    return False


def batches(made, count=3):
    """Yield numbers inside a scope, and append weak references to its tensors to `made`."""
    with sl.tensor.scope():
        for number in range(count):
            x = NUMPY.tensor([float(number)])
            made["inside"] = x
            yield number


def test_tensors_of_the_caller_survive_the_scope_of_a_paused_generator():
    made, mine = {}, []
    mine.extend(NUMPY.tensor([1.0]) * number for number in batches(made))
    assert [each.item() for each in mine] == [0, 1, 2]
    assert is_released(made["inside"])


def test_tensors_of_the_caller_belong_to_its_scope_while_a_generator_is_paused():
    generator = batches({}, count=2)
    with sl.tensor.scope():
        next(generator)
        mine = NUMPY.tensor([1.0])
        kept = (mine * 2).keep()
        generator.close()
        assert mine.item() == 1
    assert is_released(mine)
    assert kept.item() == 2


def test_scopes_of_the_caller_do_not_release_tensors_of_a_generator():
    def doubling():
        with sl.tensor.scope():
            x = NUMPY.tensor([1.0])
            while True:
                yield x.item()
                x = x * 2

    generator, found = doubling(), []
    for _ in range(4):
        with sl.tensor.scope():
            found.append(next(generator))
            mine = NUMPY.tensor([1.0])
        assert is_released(mine)
    assert found == [1, 2, 4, 8]


def test_a_function_that_a_generator_calls_is_inside_its_scope():
    made = []

    def helper():
        made.append(NUMPY.tensor([1.0]))

    def generator():
        with sl.tensor.scope():
            helper()
            yield

    list(generator())
    assert is_released(made[0])


def test_a_scope_in_a_contextmanager_applies_to_its_with_block():
    @contextlib.contextmanager
    def session():
        with sl.tensor.scope():
            yield

    with session():
        x = NUMPY.tensor([1.0])
    with contextlib.ExitStack() as stack:
        stack.enter_context(session())
        y = NUMPY.tensor([1.0])
    assert is_released(x)
    assert is_released(y)


def test_a_scope_drops_references_to_deleted_tensors_of_a_generator():
    def generator():
        with sl.tensor.scope():
            for _ in range(5000):
                NUMPY.tensor([1.0])
            yield len(innermost.get().made)

    assert next(generator()) < 3000


def test_tensors_of_other_tasks_survive_the_scope_of_a_task():
    async def inside(ready, over):
        with sl.tensor.scope():
            x = NUMPY.tensor([1.0])
            child = asyncio.create_task(beside(over))  # the task copies the current context
            ready.set()
            await over.wait()
            y = await made_for_it()
        return x, y, await child

    async def made_for_it():
        await asyncio.sleep(0)
        return NUMPY.tensor([2.0])

    async def beside(over):
        x = NUMPY.tensor([3.0])
        over.set()
        await asyncio.sleep(0)
        return x

    async def main():
        ready, over = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(inside(ready, over))
        await ready.wait()
        mine = NUMPY.tensor([4.0])
        return (*await task, mine)

    x, y, child, mine = asyncio.run(main())
    assert (is_released(x), is_released(y)) == (True, True)
    assert (child.item(), mine.item()) == (3, 4)


def test_tensors_of_a_thread_survive_the_scope_of_a_waiting_task():
    async def main():
        with sl.tensor.scope():
            return await asyncio.to_thread(lambda: NUMPY.tensor([1.0]))

    assert asyncio.run(main()).item() == 1
