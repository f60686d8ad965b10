"""A network that was trained on a card scores the same after an export and a load."""

from typing import Any

import numpy as np
import pytest

import card
import seqloom as sl

torch: Any = pytest.importorskip("torch")

pytestmark = [pytest.mark.usefixtures("without_pictures"), card.on_a_card]


@pytest.fixture(params=card.NAMES)
def trained(request, toy, small, tmp_path):
    """A run folder, its export, and the scores that the card gave."""
    card.backend(request.param)
    options: dict[str, Any] = {"epochs": 2, "report": False, "backend": request.param}
    run = sl.train.fit(small, toy(), out=tmp_path / "run", **options)
    toy(30, name="new", labels=None)
    sl.export.save(run.trained, tmp_path / "exported")
    with card.whole_float32(request.param):
        scores = sl.infer.predict(run.trained, tmp_path / "new.fa")
    return tmp_path, request.param, scores


def test_an_export_scores_as_the_card(trained):
    folder, _, scores = trained
    found = sl.infer.predict(folder / "exported", folder / "new.fa")
    assert found.ids == scores.ids
    np.testing.assert_allclose(found.to_numpy(), scores.to_numpy(), rtol=1e-4, atol=1e-5)


def test_a_run_loaded_onto_a_card_scores_as_before(trained):
    folder, name, scores = trained
    with card.whole_float32(name):
        model = sl.models.load(folder / "run", backend=name)
        found = sl.infer.predict(model, folder / "new.fa")
    np.testing.assert_allclose(found.to_numpy(), scores.to_numpy(), rtol=1e-4, atol=1e-5)
