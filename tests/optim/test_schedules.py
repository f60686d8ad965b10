"""Learning rate schedules compared with PyTorch."""

import json

import pytest

import seqloom as sl
from seqloom import optim
from seqloom.errors import ArgumentError, ConfigError

torch = pytest.importorskip("torch")
rates = torch.optim.lr_scheduler
STEP_COUNT = 40

# Pairs of a seqloom schedule and a PyTorch schedule of an optimiser with learning rate
# 0.5.
SCHEDULES_AND_PYTORCH_SCHEDULES = {
    "linear": (
        optim.LinearDecay(0.5, 0.1, 20),
        lambda o: rates.LinearLR(o, 1.0, 0.2, total_iters=20),
    ),
    "warmup": (
        optim.LinearDecay(0.05, 0.5, 8),
        lambda o: rates.LinearLR(o, 0.1, 1.0, total_iters=8),
    ),
    "one cycle": (
        optim.OneCycle(0.5, STEP_COUNT),
        lambda o: rates.OneCycleLR(o, 0.5, total_steps=STEP_COUNT),
    ),
    "one cycle, other shares": (
        optim.OneCycle(0.5, STEP_COUNT, 0.6, 10.0, 50.0),
        lambda o: rates.OneCycleLR(
            o,
            0.5,
            total_steps=STEP_COUNT,
            pct_start=0.6,
            div_factor=10,
            final_div_factor=50,
        ),
    ),
    "exponential": (
        optim.ExponentialDecay(0.5, 0.9),
        lambda o: rates.ExponentialLR(o, 0.9),
    ),
    "step": (optim.StepDecay(0.5, 7, 0.3), lambda o: rates.StepLR(o, 7, 0.3)),
    "constant": (optim.Constant(0.5), lambda o: rates.LambdaLR(o, lambda _: 1.0)),
    "chain": (
        optim.Chain(
            (optim.LinearDecay(0.05, 0.5, 8), optim.ExponentialDecay(0.5, 0.9)), (8,)
        ),
        lambda o: rates.SequentialLR(
            o, [rates.LinearLR(o, 0.1, 1.0, 8), rates.ExponentialLR(o, 0.9)], [8]
        ),
    ),
}


def list_torch_rates(make, steps=STEP_COUNT, lr=0.5):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    schedule = make(optimizer)
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


@pytest.mark.parametrize("name", SCHEDULES_AND_PYTORCH_SCHEDULES)
def test_schedules_match_pytorch(name):
    ours, theirs = SCHEDULES_AND_PYTORCH_SCHEDULES[name]
    found = [ours(step) for step in range(STEP_COUNT)]
    assert found == pytest.approx(list_torch_rates(theirs), rel=1e-9)


def test_cosine_decay_matches_pytorch_and_stays_at_its_minimum():
    ours = optim.CosineDecay(0.5, 20, floor=0.1)
    theirs = list_torch_rates(lambda o: rates.CosineAnnealingLR(o, 20, 0.1), 21)
    assert [ours(step) for step in range(21)] == pytest.approx(theirs, rel=1e-9)
    assert ours(50) == 0.1


def test_noam_matches_its_paper():
    ours = optim.Noam(width=64, warmup=10, factor=2.0)
    paper = [2 * 64**-0.5 * min(n**-0.5, n * 10**-1.5) for n in range(1, STEP_COUNT + 1)]
    assert [ours(step) for step in range(STEP_COUNT)] == pytest.approx(paper)


@pytest.mark.parametrize("highest", [False, True])
@pytest.mark.parametrize("patience", [0, 2])
def test_plateau_reductions_match_pytorch(highest, patience):
    losses = [3.0, 2.0, 2.1, 1.9999, 2.0, 1.5, 1.6, 1.7, 1.4, 1.9, 2.0, 2.1, 2.2, 2.3]
    values = [-loss for loss in losses] if highest else losses
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    theirs = rates.ReduceLROnPlateau(
        optimizer, "max" if highest else "min", 0.5, patience, min_lr=0.1
    )
    ours = optim.Plateau(0.5, 0.5, patience, highest=highest, floor=0.1)
    values = [10 + value for value in values]
    for value in values:
        ours = ours.observe(value)
        theirs.step(value)
        assert ours(0) == optimizer.param_groups[0]["lr"]


SAVED_SCHEDULES = {
    **{name: ours for name, (ours, _) in SCHEDULES_AND_PYTORCH_SCHEDULES.items()},
    "cosine": optim.CosineDecay(0.5, 20),
    "warmup and cosine": optim.WarmupCosine(0.1, 3, 10),
    "noam": optim.Noam(64, 10),
    "plateau": optim.Plateau(0.5).observe(1.0).observe(2.0),
}


NAN = float("nan")


@pytest.mark.parametrize("highest", [False, True])
@pytest.mark.parametrize(
    "values", [[NAN, 3.0, 2.0, 1.0, 1.0], [2.0, NAN, NAN, 1.0], [float("inf"), 2.0]]
)
def test_plateau_reductions_with_nan_match_pytorch(values, highest):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    mode = "max" if highest else "min"
    theirs = rates.ReduceLROnPlateau(optimizer, mode, 0.5, patience=0)
    ours = optim.Plateau(0.5, 0.5, patience=0, highest=highest)
    for value in (-value if highest else value for value in values):
        theirs.step(value)
        ours = ours.observe(value)
        assert ours.lr == pytest.approx(optimizer.param_groups[0]["lr"])


def test_a_plateau_whose_best_value_is_nan_improves_with_the_next_number():
    assert optim.Plateau(0.5, best=NAN, patience=0).observe(1.0).best == 1.0


@pytest.mark.parametrize("name", SAVED_SCHEDULES)
def test_a_schedule_is_restored_from_json(name):
    schedule = SAVED_SCHEDULES[name]
    again = optim.Schedule.from_json(schedule.to_json())
    assert again == schedule
    assert type(again) is type(schedule)


def test_a_schedule_must_define_a_learning_rate():
    with pytest.raises(TypeError, match="__call__"):
        type("Rateless", (optim.Schedule,), {})()


def test_settings_of_another_class_are_rejected_as_schedule():
    with pytest.raises(ConfigError, match="expected settings of Schedule, found OneHot"):
        optim.Schedule.from_json(sl.encode.OneHot("dna").to_json())


def test_a_field_of_a_schedule_in_a_chain_is_checked():
    values = json.loads(SCHEDULES_AND_PYTORCH_SCHEDULES["chain"][0].to_json())
    values["schedules"][0]["total"] = "many"
    with pytest.raises(ConfigError, match=r"LinearDecay\.total"):
        optim.Schedule.from_dict(values)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: optim.LinearDecay(1.0, 0.0, 0), "total must be at least 1, got 0"),
        (lambda: optim.CosineDecay(1.0, -1), "total must be at least 1, got -1"),
        (lambda: optim.WarmupCosine(1.0, 5, 3), "warmup must be from 0 to total=3, got 5"),
        (lambda: optim.OneCycle(1.0, 1), "total must be at least 2, got 1"),
        (lambda: optim.OneCycle(1.0, 9, rise=1.0), "rise must be between 0 and 1, got 1.0"),
        (lambda: optim.OneCycle(1.0, 3, rise=0.1), "rise=0.1 of total=3 steps is less"),
        (lambda: optim.ExponentialDecay(1.0, 0.0), "factor must be above 0, got 0.0"),
        (lambda: optim.StepDecay(1.0, 0), "every must be at least 1, got 0"),
        (lambda: optim.Noam(0, 10), "width must be at least 1, got 0"),
        (lambda: optim.Plateau(1.0, 1.0), "factor must be between 0 and 1, got 1.0"),
        (lambda: optim.Plateau(1.0, patience=-1), "patience must be at least 0, got -1"),
        (lambda: optim.Chain((), ()), "at least one schedule"),
        (
            lambda: optim.Chain((optim.Constant(1.0),), (3,)),
            "got 1 lengths for 1 schedules",
        ),
        (
            lambda: optim.Chain((optim.Constant(1.0), optim.Constant(2.0)), (0,)),
            "every number in lengths must be at least 1, got 0",
        ),
    ],
)
def test_an_invalid_setting_of_a_schedule_is_rejected(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()
