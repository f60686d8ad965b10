"""Compare logistic regression of scikit-learn and seqloom on one-hot bases."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, cross_val_score

from benchmarks._page import machine, publish, table
from benchmarks._splice import read, windows_as_groups
from seqloom.cli._demo import LINEAR, LINEAR_DECAY
from seqloom.cli._splice import Logistic
from seqloom.data import Dataset
from seqloom.infer import evaluate
from seqloom.train import Updates, fit

STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0)


def main() -> None:
    """Fit both on all 2,000 training windows; score the test windows once."""
    train, test = read("train"), read("test")
    strength, theirs = _fit_theirs(train, test)
    ours = _fit_ours(train, test)
    rows = [
        (f"scikit-learn, C {strength:g} by cross-validation", f"{theirs:.4f}"),
        ("seqloom, `Linear` trained by `fit`, as in the demo", f"{ours:.4f}"),
    ]
    facts = machine("scikit-learn", "numpy", "seqloom")
    publish(
        "logistic", f"{table(('logistic regression', 'test accuracy'), rows)}\n\n{facts}"
    )


def _fit_theirs(train: Dataset, test: Dataset) -> tuple[float, float]:
    """Choose the penalty on the training windows; return it and the test accuracy."""
    x, y = _flat(train)
    groups = list(windows_as_groups(train).values())
    cuts = list(StratifiedGroupKFold(5, shuffle=True, random_state=0).split(x, y, groups))
    models = [LogisticRegression(C=strength, max_iter=2000) for strength in STRENGTHS]
    scores = [float(cross_val_score(model, x, y, cv=cuts).mean()) for model in models]
    best = models[int(np.argmax(scores))]
    return best.C, float(best.fit(x, y).score(*_flat(test)))


def _fit_ours(train: Dataset, test: Dataset) -> float:
    """Train the model of the demo on the same numbers."""
    model = Logistic(_flat(train)[0].shape[1], len(train.classes))
    updates = Updates(weight_decay=LINEAR_DECAY)
    training: dict[str, Any] = {**LINEAR, "optimizer": updates}
    return evaluate(fit(model, train, **training).trained, test)["accuracy"]


def _flat(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return one row of numbers per window, and the labels."""
    arrays = data.to_numpy()
    return arrays["inputs"].reshape(len(data), -1), arrays["label"]
