"""Mistakes that are common in libraries that capture steps."""

import threading

import numpy as np
import pytest

import seqloom as sl
from compiled_networks import batch_of, model_of, step
from seqloom.errors import ArgumentError, CaptureError, GradientError

NUMPY = sl.tensor.backend("numpy")
RANDOM_KEY = sl.Key(7)


def prepare(seed=0):
    """Return a compiled step, a model, an optimizer and a batch."""
    return sl.tensor.compile(step), *model_of("MLP", NUMPY), batch_of("MLP", NUMPY, seed)


def eager_losses(count, lr=1e-2):
    """Return the losses of uncompiled steps, which all use the same key."""
    (model, optimizer), batch = model_of("MLP", NUMPY), batch_of("MLP", NUMPY)
    return [step(model, optimizer, lr, batch, RANDOM_KEY)[1].item() for _ in range(count)]


def test_results_of_a_compiled_step_keep_their_values_after_the_next_call():
    compiled, model, optimizer, batch = prepare()
    losses = [compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)[1] for _ in range(4)]
    np.testing.assert_allclose([loss.item() for loss in losses], eager_losses(4), rtol=1e-6)


def test_a_returned_view_of_a_parameter_keeps_its_values():
    @sl.tensor.compile
    def look(model, optimizer, lr, batch, key):
        before = model.first.weight.value.reshape(-1)
        step(model, optimizer, lr, batch, key)
        return before, model.first.weight.value.reshape(-1)

    _, model, optimizer, batch = prepare()
    start = model.first.weight.numpy().ravel()
    before, after = look(model, optimizer, 1e-2, batch, RANDOM_KEY)
    now = model.first.weight.numpy().ravel()
    look(model, optimizer, 1e-2, batch, RANDOM_KEY)
    assert np.array_equal(before.numpy(), start)
    assert np.array_equal(after.numpy(), now)


def test_a_tensor_read_from_a_parameter_keeps_its_values():
    compiled, model, optimizer, batch = prepare()
    taken, values = model.first.weight.value, model.first.weight.numpy()
    compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)
    assert np.array_equal(taken.numpy(), values)
    assert not np.array_equal(model.first.weight.numpy(), values)


def test_a_new_learning_rate_is_an_input():
    compiled, model, optimizer, batch = prepare()
    weights = model.first.weight.numpy()
    compiled(model, optimizer, 0.0, batch, RANDOM_KEY)
    assert np.array_equal(model.first.weight.numpy(), weights)
    compiled(model, optimizer, 0.1, batch, RANDOM_KEY)
    assert abs(model.first.weight.numpy() - weights).max() > 0.05
    assert compiled.recompiles == 0


def test_a_learning_rate_may_be_a_tensor():
    compiled, model, optimizer, batch = prepare()
    lr = NUMPY.tensor(1e-2)
    losses = [compiled(model, optimizer, lr, batch, RANDOM_KEY)[1] for _ in range(2)]
    assert losses[1].item() == pytest.approx(eager_losses(2)[1], rel=1e-6)


def test_a_different_key_gives_a_different_dropout_mask():
    compiled, model, optimizer, batch = prepare()
    losses = [compiled(model, optimizer, 0.0, batch, sl.Key(n))[1].item() for n in range(5)]
    again = compiled(model, optimizer, 0.0, batch, sl.Key(0))[1].item()
    assert len(set(losses)) == 5
    assert again == losses[0]
    assert compiled.recompiles == 0


def test_a_branch_on_a_tensor_in_a_compiled_step_is_an_error_with_its_line():
    def branching(x):
        return x if x.sum() > 0 else -x

    line = branching.__code__.co_firstlineno + 1
    with pytest.raises(CaptureError, match=rf"test_capture_pitfalls.py:{line} .*where"):
        sl.tensor.compile(branching)(NUMPY.tensor([1.0]))


FUNCTIONS_THAT_READ_VALUES = {
    "item": lambda x: x.item(),
    "float": float,
    "numpy": lambda x: x.numpy(),
    "asarray": np.asarray,
    "bool": bool,
}


@pytest.mark.parametrize(
    "ask", FUNCTIONS_THAT_READ_VALUES.values(), ids=FUNCTIONS_THAT_READ_VALUES
)
def test_reading_a_value_inside_a_step_is_an_error(ask):
    with pytest.raises(CaptureError, match="compiled step"):
        sl.tensor.compile(lambda x: ask(x.sum()))(NUMPY.tensor([1.0]))


def test_an_error_in_a_step_leaves_the_state_unchanged():
    def failing(model, optimizer, lr, batch, key):
        _, loss = step(model, optimizer, lr, batch, key)
        return loss.item()

    _, model, optimizer, batch = prepare()
    weights = model.to_record()
    with pytest.raises(CaptureError):
        sl.tensor.compile(failing)(model, optimizer, 1e-2, batch, RANDOM_KEY)
    assert all(
        np.array_equal(weights[path], each) for path, each in model.to_record().items()
    )
    assert optimizer.step_count == 0
    assert model.backend is NUMPY
    assert step(model, optimizer, 1e-2, batch, RANDOM_KEY)[1].item() == eager_losses(1)[0]


def test_a_module_that_is_not_an_argument_of_the_compiled_step_is_an_error():
    model = model_of("MLP", NUMPY)[0]
    with pytest.raises(CaptureError, match=r"first.weight.*argument"):
        sl.tensor.compile(lambda x: model.first(x))(batch_of("MLP", NUMPY)["x"])  # noqa: PLW0108


def test_a_replaced_parameter_is_used_by_later_calls():
    compiled, model, optimizer, batch = prepare()
    compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)
    model.first.weight = sl.nn.Param((16, 6), sl.nn.Fill(0.0))
    model.bind(NUMPY, sl.Key(1))
    compiled(model, optimizer, 0.0, batch, RANDOM_KEY)
    assert np.array_equal(model.first.weight.numpy(), np.zeros((16, 6)))


def test_load_record_between_two_steps_takes_effect():
    compiled, model, optimizer, batch = prepare()
    start = model.to_record()
    first = compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)[1].item()
    compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)
    model.load_record(start)
    assert compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)[1].item() == first
    assert compiled.recompiles == 0


def test_an_optimiser_resumes_from_a_record():
    compiled, model, optimizer, batch = prepare()
    compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)
    again = sl.optim.AdamW().load_record(optimizer.to_record())
    loss = compiled(model, again, 1e-2, batch, RANDOM_KEY)[1].item()
    assert loss == pytest.approx(eager_losses(2)[1], rel=1e-6)
    compiled(model, again, 1e-2, batch, RANDOM_KEY)
    assert again.step_count == 3


def test_training_and_evaluation_mode_have_separate_programs():
    compiled, model, optimizer, batch = prepare()
    trained = compiled(model, optimizer, 0.0, batch, RANDOM_KEY)[1].item()
    judged = compiled(model.eval(), optimizer, 0.0, batch, RANDOM_KEY)[1].item()
    again = compiled(model.train(), optimizer, 0.0, batch, RANDOM_KEY)[1].item()
    assert judged != trained == again
    assert compiled.recompiles == 1


def test_frozen_parameters_do_not_change():
    compiled, model, optimizer, batch = prepare()
    compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)
    frozen, free = model.freeze("first.*").first.weight.numpy(), model.second.weight.numpy()
    compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)
    assert np.array_equal(model.first.weight.numpy(), frozen)
    assert not np.array_equal(model.second.weight.numpy(), free)


def test_a_new_shape_compiles_a_new_program():
    compiled = sl.tensor.compile(lambda x: x * 2)
    for length in (3, 4, 3, 4):
        assert compiled(NUMPY.tensor([1.0] * length)).shape == (length,)
    assert compiled.recompiles == 1


def test_compiling_many_programs_for_one_step_gives_a_warning_with_the_reason():
    compiled = sl.tensor.compile(lambda x: x * 2)
    for length in range(1, 8):
        compiled(NUMPY.tensor([1.0] * length))
    with pytest.warns(RuntimeWarning, match=r"compiled 8 times.*\(8,\) instead of \(7,\)"):
        compiled(NUMPY.tensor([1.0] * 8))


def test_each_value_of_an_integer_or_string_argument_has_a_separate_program():
    compiled = sl.tensor.compile(lambda x, n, name: x * n if name == "times" else x + n)
    x = NUMPY.tensor([3.0])
    assert compiled(x, 2, "times").item() == 6
    assert compiled(x, 3, "times").item() == 9
    assert compiled(x, 3, "plus").item() == 6
    assert compiled(x, 1, name="plus").item() == 4
    assert compiled(x, n=True, name="plus").item() == 4
    assert compiled.recompiles == 4


def test_positional_and_keyword_arguments_share_a_program():
    compiled, model, optimizer, batch = prepare()
    compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)
    compiled(model, optimizer, key=RANDOM_KEY, batch=batch, lr=1e-2)
    assert compiled.recompiles == 0


def test_two_model_instances_have_separate_state():
    compiled, model, optimizer, batch = prepare()
    other, second = model_of("MLP", NUMPY)
    _, mine = (
        compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)[1].item() for _ in range(2)
    )
    theirs = compiled(other, second, 1e-2, batch, RANDOM_KEY)[1].item()
    assert [theirs, mine] == pytest.approx(eager_losses(2), rel=1e-6)
    assert compiled.recompiles == 0


def test_the_same_tensor_may_be_passed_as_two_arguments():
    compiled = sl.tensor.compile(lambda x, y: x - y * 2)
    x = NUMPY.tensor([1.0, 2.0])
    assert compiled(x, x).numpy().tolist() == [-1, -2]
    assert compiled(x, NUMPY.tensor([0.0, 0.0])).numpy().tolist() == [1, 2]


def test_the_same_module_may_be_passed_as_two_arguments():
    @sl.tensor.compile
    def add(first, second):
        first.weight.assign(first.weight.value + 1.0)
        second.weight.assign(second.weight.value * 2.0)
        return first.weight.value

    one, two = (sl.nn.Linear(1, 1).bind(NUMPY, sl.Key(0)) for _ in range(2))
    for each in (one, two):
        each.weight.assign([[1.0]])
    add(one, two)
    assert [one.weight.numpy().item(), two.weight.numpy().item()] == [2, 2]
    add(one, one)
    assert one.weight.numpy().item() == 6


def test_a_parameter_copied_into_another_parameter_stays_independent():
    @sl.tensor.compile
    def follow(teacher, student, x):
        teacher.weight.assign(student.weight.value)
        return student(x)

    one, two = (sl.nn.Linear(2, 1).bind(NUMPY, sl.Key(n)) for n in range(2))
    follow(one, two, NUMPY.tensor([[1.0, 1.0]]))
    two.weight.assign(two.weight.value * 0.0)
    assert one.weight.numpy().any()


def test_numpy_arrays_are_inputs_of_a_compiled_step():
    compiled = sl.tensor.compile(lambda x, y: x + y)
    array = np.ones(2, "f4")
    assert compiled(NUMPY.tensor([1.0, 1.0]), array).numpy().tolist() == [2, 2]
    array[:] = 5
    assert compiled(NUMPY.tensor([1.0, 1.0]), array).numpy().tolist() == [6, 6]


def test_a_python_number_is_converted_to_the_dtype_of_the_array():
    compiled = sl.tensor.compile(lambda x, rate: x * (rate * 2.0))
    for kind in ("float32", "float64"):
        assert compiled(NUMPY.tensor([1.5], dtype=kind), 2.0).dtype == kind
        assert compiled(NUMPY.tensor([1.5], dtype=kind), 2.0).item() == 6


def test_gradients_can_be_arguments_and_results_of_a_compiled_step():
    follow = sl.tensor.compile(sl.nn.value_and_grad(lambda model, x: model(x).sum()))
    move = sl.tensor.compile(lambda lr, opt, model, grads: opt.step(lr, model, grads))
    one, two = (sl.nn.Linear(2, 1).bind(NUMPY, sl.Key(0)) for _ in range(2))
    x, first, second = NUMPY.tensor([[1.0, 2.0]]), sl.optim.AdamW(), sl.optim.AdamW()
    for model, optimizer in ((one, first), (two, second)):
        _, grads = follow(model, x)
        assert grads.wrt(model.weight).numpy().tolist() == [[1, 2]]
        move(0.1, optimizer, model, grads)
    assert np.array_equal(one.weight.numpy(), two.weight.numpy())


def test_the_environment_variable_disables_compilation(monkeypatch):
    seen = []
    plain = sl.tensor.compile(lambda x: seen.append(x.numpy()) or x, enabled=False)
    plain(NUMPY.tensor([1.0]))
    monkeypatch.setenv("SEQLOOM_COMPILE", "0")
    sl.tensor.compile(lambda x: seen.append(x.numpy()) or x)(NUMPY.tensor([2.0]))
    assert [each.item() for each in seen] == [1, 2]


def test_compile_decorates_methods():
    class Scorer(sl.nn.Module):
        head: sl.nn.Linear

        @sl.tensor.compile
        def scores(self, x):
            return self.head(x)

    judge = Scorer(sl.nn.Linear(2, 1)).bind(NUMPY, sl.Key(0))
    x = NUMPY.tensor([[1.0, 2.0]])
    assert judge.scores(x).item() == pytest.approx(judge.head(x).item())


def test_a_compiled_step_may_call_another_compiled_step():
    inner = sl.tensor.compile(lambda x: x * 2)
    assert sl.tensor.compile(lambda x: inner(x) + 1)(NUMPY.tensor([1.0])).item() == 3


def test_changing_the_training_mode_in_a_compiled_step_is_an_error():
    def change(model, x):
        model.eval()
        return model(x)

    with pytest.raises(CaptureError, match="happen only once"):
        sl.tensor.compile(change)(
            sl.nn.Linear(1, 1).bind(NUMPY, sl.Key(0)), NUMPY.tensor([[1.0]])
        )


def test_an_unsupported_argument_of_a_compiled_step_is_an_error():
    with pytest.raises(ArgumentError, match="argument of the compiled step is a object"):
        sl.tensor.compile(lambda _x, _y: None)(NUMPY.tensor([1.0]), object())


def test_running_averages_are_updated_once_per_step():
    @sl.tensor.compile
    def forward(norm, x):
        return norm(x)

    one, two = (sl.nn.BatchNorm1d(2).bind(NUMPY, sl.Key(0)) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(3):
        x = NUMPY.tensor(rng.normal(size=(4, 2, 5)).astype("f4"))
        np.testing.assert_allclose(forward(one, x).numpy(), two(x).numpy(), atol=1e-6)
    for name in ("running_mean", "running_var"):
        mine, theirs = getattr(one, name).numpy(), getattr(two, name).numpy()
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_a_loss_without_parameters_raises_the_same_error_as_an_eager_step():
    follow = sl.nn.value_and_grad(lambda _model, x: x.sum())
    with pytest.raises(GradientError):
        sl.tensor.compile(follow)(
            sl.nn.Linear(1, 1).bind(NUMPY, sl.Key(0)), NUMPY.tensor([1.0])
        )


def test_threads_with_separate_models_can_run_concurrently():
    compiled, results = sl.tensor.compile(step), {}

    def work(number):
        (model, optimizer), batch = model_of("MLP", NUMPY), batch_of("MLP", NUMPY)
        results[number] = [
            compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)[1].item() for _ in range(5)
        ]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(
        each == pytest.approx(eager_losses(5), rel=1e-6) for each in results.values()
    )


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_a_key_created_in_the_step_is_a_constant(library):
    pytest.importorskip(library)
    x = sl.tensor.backend(library).tensor(np.ones((4, 8), np.float32))

    def drop(x):
        return sl.nn.functional.dropout(x, 0.5, key=sl.Key(3))

    np.testing.assert_array_equal(sl.tensor.compile(drop)(x).numpy(), drop(x).numpy())
