"""Losses that `torch.nn` lacks or names differently match reference implementations."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, ShapeError

torch = pytest.importorskip("torch")
F, TF = sl.nn.functional, torch.nn.functional
RNG = np.random.default_rng(0)
RANDOM_ARRAY = RNG.normal(size=(4, 9)).astype("float32")
SECOND_RANDOM_ARRAY = RNG.normal(size=(4, 9)).astype("float32")
TARGET_COUNTS = RNG.integers(0, 60, (4, 9)).astype("float32") * (RNG.random((4, 9)) > 0.4)
BINARY_LABELS = RNG.integers(0, 2, (4, 9)).astype("float32")
CLASS_LABELS = np.array([3, 0, -100, 8])
CLASS_ALPHAS = RNG.random(9).astype("float32")
MASK_OF_REAL_POSITIONS = np.arange(9) < 6


def multinomial(x, counts):
    """Compute the loss of each record with `torch.distributions.Multinomial`."""
    pairs = zip(x, torch.tensor(counts), strict=True)
    return -torch.stack(
        [
            torch.distributions.Multinomial(int(row.sum()), logits=logits).log_prob(row)
            for logits, row in pairs
        ]
    )


def sigmoid_focal(x, target, alpha, gamma):
    """Compute `torchvision.ops.sigmoid_focal_loss`."""
    p = torch.sigmoid(x)
    ce_loss = TF.binary_cross_entropy_with_logits(x, target, reduction="none")
    p_t = p * target + (1 - p) * (1 - target)
    loss = ce_loss * ((1 - p_t) ** gamma)
    if alpha >= 0:
        loss = (alpha * target + (1 - alpha) * (1 - target)) * loss
    return loss


def focal(x, target, alpha, gamma):
    target, alpha = torch.tensor(target), torch.tensor(alpha)
    p = TF.softmax(x, -1).gather(1, target.clamp(min=0)[:, None])[:, 0]
    weight = alpha[target.clamp(min=0)] * (1 - p) ** gamma
    return (-weight * torch.log(p))[target >= 0].mean()


LOSS_CASES = {
    "multinomial_nll": (
        lambda x: F.multinomial_nll(x, TARGET_COUNTS),
        lambda x: multinomial(x, TARGET_COUNTS).mean(),
    ),
    "multinomial_nll, none": (
        lambda x: F.multinomial_nll(x, TARGET_COUNTS, reduction="none"),
        lambda x: multinomial(x, TARGET_COUNTS),
    ),
    "multinomial_nll, masked": (
        lambda x: F.multinomial_nll(
            x, TARGET_COUNTS, MASK_OF_REAL_POSITIONS, reduction="sum"
        ),
        lambda x: multinomial(x[:, :6], TARGET_COUNTS[:, :6]).sum(),
    ),
    "log1p_mse_loss": (
        lambda x: F.log1p_mse_loss(x, TARGET_COUNTS),
        lambda x: TF.mse_loss(x, torch.tensor(TARGET_COUNTS + 1).log()),
    ),
    "profile_loss": (
        lambda x: F.profile_loss(x.reshape(4, 3, 3), TARGET_COUNTS.reshape(4, 3, 3), 0.7),
        lambda x: (
            multinomial(x, TARGET_COUNTS).mean()
            + 0.7
            * TF.mse_loss(x.logsumexp(1), torch.tensor(TARGET_COUNTS.sum(1) + 1).log())
        ),
    ),
    "sigmoid_focal_loss": (
        lambda x: F.sigmoid_focal_loss(x, BINARY_LABELS),
        lambda x: sigmoid_focal(x, torch.tensor(BINARY_LABELS), 0.25, 2),
    ),
    "sigmoid_focal_loss without weights": (
        lambda x: F.sigmoid_focal_loss(x, BINARY_LABELS, -1, 1.5, "mean"),
        lambda x: sigmoid_focal(x, torch.tensor(BINARY_LABELS), -1, 1.5).mean(),
    ),
    "focal_loss": (
        lambda x: F.focal_loss(x, CLASS_LABELS, CLASS_ALPHAS, 2.0),
        lambda x: focal(x, CLASS_LABELS, CLASS_ALPHAS, 2.0),
    ),
    "focal_loss, gamma 0": (
        lambda x: F.focal_loss(x, CLASS_LABELS, gamma=0.0),
        lambda x: TF.cross_entropy(x, torch.tensor(CLASS_LABELS)),
    ),
    "poisson_nll_loss": (
        lambda x: F.poisson_nll_loss(x, TARGET_COUNTS, full=True),
        lambda x: TF.poisson_nll_loss(x, torch.tensor(TARGET_COUNTS), full=True),
    ),
    "huber_loss": (
        lambda x: F.huber_loss(x, SECOND_RANDOM_ARRAY, delta=0.7),
        lambda x: TF.huber_loss(x, torch.tensor(SECOND_RANDOM_ARRAY), delta=0.7),
    ),
    "smooth_l1_loss": (
        lambda x: F.smooth_l1_loss(x, SECOND_RANDOM_ARRAY, beta=0.7),
        lambda x: TF.smooth_l1_loss(x, torch.tensor(SECOND_RANDOM_ARRAY), beta=0.7),
    ),
}
SOAK_MARK = pytest.mark.soak
BACKENDS_AND_COMPILATION = [
    ("numpy", False),
    ("numpy", True),
    ("torch", False),
    pytest.param("torch", True, marks=SOAK_MARK),
    pytest.param("jax", False, marks=SOAK_MARK),
    ("jax", True),
]


@pytest.mark.parametrize(("name", "compiled"), BACKENDS_AND_COMPILATION)
@pytest.mark.parametrize("case", LOSS_CASES)
def test_count_and_focal_losses_equal_a_reference_implementation(case, name, compiled):
    if name != "numpy":
        pytest.importorskip(name)
    ours, oracle = LOSS_CASES[case]
    point = torch.tensor(RANDOM_ARRAY, requires_grad=True)
    expected = oracle(point)
    expected.sum().backward()

    def step(x):
        return sl.tensor.value_and_grad(lambda x: ours(x).sum())(x), ours(x)

    run = sl.tensor.compile(step) if compiled else step
    (_, grad), found = run(sl.tensor.backend(name, num_threads=1).tensor(RANDOM_ARRAY))
    grad = grad[0] if isinstance(grad, (tuple, list)) else grad
    np.testing.assert_allclose(
        found.numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(grad.numpy(), point.grad.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("largest", [1, 7, 300, 10**6])
def test_log_factorials_are_accurate_for_small_and_large_counts(largest):
    counts = np.random.default_rng(1).integers(0, largest + 1, (3, 50)).astype("float32")
    x = np.zeros((3, 50), "float32")
    found = F.multinomial_nll(
        sl.tensor.backend("numpy").tensor(x), counts, reduction="none"
    )
    exact = torch.tensor(counts, dtype=torch.float64)
    wide = torch.lgamma(exact + 1).sum(-1) - torch.lgamma(exact.sum(-1) + 1)
    expected = (wide + exact.sum(-1) * np.log(50)).numpy()
    # The terms are about N log N, and their sum is much smaller.
    least = 1e-6 * float(torch.lgamma(exact.sum(-1) + 2).max())
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=least)


def test_count_and_focal_losses_reject_a_target_of_another_shape():
    x = sl.tensor.backend("numpy").tensor(RANDOM_ARRAY)
    with pytest.raises(ShapeError, match="target must have the shape of x"):
        F.multinomial_nll(x, TARGET_COUNTS[0])


def test_a_negative_focal_exponent_is_rejected():
    x = sl.tensor.backend("numpy").tensor(RANDOM_ARRAY)
    with pytest.raises(ArgumentError, match="gamma must be 0 or more"):
        F.focal_loss(x, [0, 1, 2, 3], gamma=-1.0)
