"""Tests of the warning that a network treats padding as data."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import seqloom as sl
from fit_arguments import as_arguments
from seqloom import nn
from seqloom.nn import functional as F

DNA_SEQUENCE = "".join(np.random.default_rng(0).choice(list("ACGT"), 90))
SEQUENCES = [DNA_SEQUENCE[at : at + 5 + at % 7] for at in range(30)]


class MeanOfAll(nn.Module):
    """A network that averages over all positions, including padding."""

    head: nn.Linear

    def __init__(self):
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(x.mean(axis=2))


class MeanOfLetters(nn.Module):
    """A network that averages over positions that are not padding."""

    head: nn.Linear

    def __init__(self):
        self.head = nn.Linear(4, 2)

    def forward(self, x, mask=None):
        return self.head(F.masked_mean(x, mask))


class TorchMeanOfAll(torch.nn.Module):
    """The PyTorch version of `MeanOfAll`."""

    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.head(x.mean(dim=2))


def read(sequences):
    labels = {str(at): "no" if at % 2 else "yes" for at in range(len(sequences))}
    records = {str(at): letters for at, letters in enumerate(sequences)}
    return sl.data.SequenceDataset(records, labels=labels, encoder=sl.encode.OneHot("dna"))


def fit(network, data, **options):
    return sl.train.fit(network, data, **as_arguments(epochs=1, batch_size=8, **options))


def find_warnings(network, data):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fit(network, data)
    return [it for it in found if "takes neither mask nor lengths" in str(it.message)]


NETWORKS_WITHOUT_MASK = [(MeanOfAll, "numpy"), (TorchMeanOfAll, "torch")]


@pytest.mark.parametrize(("network", "backend"), NETWORKS_WITHOUT_MASK)
def test_a_score_does_not_depend_on_the_other_records(network, backend):
    data = read(SEQUENCES)
    with pytest.warns(UserWarning, match="takes neither mask nor lengths"):
        run = fit(network(), data, backend=backend)
    together = sl.infer.predict(run.trained, data).to_numpy()
    alone = [
        sl.infer.predict(run.trained, sl.data.Subset(data, np.array([row]))).to_numpy()[0]
        for row in range(len(data))
    ]
    np.testing.assert_allclose(together, alone, rtol=1e-6)


def test_a_score_depends_only_on_real_positions():
    data = read(SEQUENCES)
    with pytest.warns(UserWarning, match="takes neither mask nor lengths"):
        run = fit(MeanOfAll(), data)
    weight, bias = (part.value.numpy() for _, part in run.model.parameters())
    shares = np.array([[it.count(base) / len(it) for base in "ACGT"] for it in SEQUENCES])
    logits = shares @ weight.reshape(2, 4).T + bias
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = sl.infer.predict(run.trained, data).to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("lengths", [(5, 9, 9, 7), (9, 9, 9)])
def test_an_exported_network_also_scores_without_padding(tmp_path, lengths):
    sequences = [DNA_SEQUENCE[at : at + length] for at, length in enumerate(lengths)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = fit(MeanOfAll(), read(sequences))
    sl.export.save(run.trained, tmp_path / "model")
    text = "".join(f">{at}\n{letters}\n" for at, letters in enumerate(sequences))
    (tmp_path / "a.fa").write_text(text)
    found = sl.infer.predict(tmp_path / "model", tmp_path / "a.fa").to_numpy()
    expected = sl.infer.predict(run, read(sequences)).to_numpy()
    assert found.tobytes() == expected.tobytes()


def test_the_warning_names_the_network_the_lengths_and_the_line_of_the_call():
    (found,) = find_warnings(MeanOfAll(), read(SEQUENCES))
    text = str(found.message)
    assert text.startswith(
        "MeanOfAll takes neither mask nor lengths, but the sequences have 5 to 11 positions"
    )
    assert found.filename == __file__


def test_the_warning_names_the_class_of_a_pytorch_network():
    with pytest.warns(UserWarning, match="^TorchMeanOfAll takes neither"):
        fit(TorchMeanOfAll(), read(SEQUENCES), backend="torch")


def test_a_sequential_network_without_a_mask_gives_a_warning():
    pool = nn.Sequential({"mean": lambda x: x.mean(axis=2), "head": nn.Linear(4, 2)})
    assert find_warnings(pool, read(SEQUENCES))


@pytest.mark.parametrize(
    ("network", "sequences"),
    [
        (MeanOfLetters, SEQUENCES),
        (MeanOfAll, [DNA_SEQUENCE[at : at + 9] for at in range(30)]),
    ],
    ids=["a network with a mask", "records of one length"],
)
def test_harmless_padding_gives_no_warning(network, sequences):
    assert not find_warnings(network(), read(sequences))


def test_a_custom_loss_also_gives_the_padding_warning():
    with pytest.warns(UserWarning, match="takes neither mask nor lengths") as found:
        fit(MeanOfAll(), read(SEQUENCES), loss=F.cross_entropy, task="custom")
    assert found[0].filename == __file__


class TorchMeanOfLetters(torch.nn.Module):
    """A network that follows the advice of the warning."""

    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x, mask=None):
        if mask is None:
            return self.head(x.mean(2))
        return self.head((x * mask[:, None]).sum(2) / mask.sum(1, keepdim=True))


def test_the_advice_for_a_pytorch_network_works():
    data = read(SEQUENCES)
    with pytest.warns(UserWarning, match=r"\(x \* mask\[:, None\]\).sum\(2\)") as found:
        fit(TorchMeanOfAll(), data, backend="torch")
    assert "masked_mean" not in str(found[0].message)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*takes neither mask")
        run = fit(TorchMeanOfLetters(), data, backend="torch")
    model: Any = run.model
    weight, bias = (part.detach().numpy() for part in model.module.parameters())
    shares = np.array([[it.count(base) / len(it) for base in "ACGT"] for it in SEQUENCES])
    batch = data.batch(np.arange(len(data)))
    logits = model.module(*map(torch.tensor, (batch["inputs"], batch["mask"])))
    np.testing.assert_allclose(logits.detach(), shares @ weight.T + bias, rtol=1e-4)
