"""Select the model of ``fit("auto")``: a network, a linear model, or an ensemble."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite
from typing import Any

import numpy as np

from seqloom._key import Key
from seqloom.encode import OneHot
from seqloom.errors import ArgumentError
from seqloom.infer._kinds import find_encoder_kind
from seqloom.infer._loop import run_model
from seqloom.models import EnsembleConfig, SequenceCNNConfig
from seqloom.models._ensemble import describe_network, list_members
from seqloom.models._examples import check_examples
from seqloom.models._trained import config_of
from seqloom.nn import Config, Module
from seqloom.train._baselines import FittedBaseline
from seqloom.train._checkpoints import RunState
from seqloom.train._evaluation import as_comparable, candidate_key
from seqloom.train._job import FitJob
from seqloom.train._loss import BatchLoss
from seqloom.train._ranks import Ranks
from seqloom.train._settings import FitSettings

# Each further member of an ensemble must lower the validation loss by this fraction.
_MIN_GAIN = 0.01
_MAX_MEMBERS = 3
# Weight decays of two networks of variants: for precise, and for noisy measurements.
_ALIGNED_DECAYS = (0.3, 3.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A model that ``fit("auto")`` compared with others on the validation set.

    Attributes:
        name: The class of the network, or the linear model and its features.
        parameters: Number of parameters.
        valid_loss: Loss on the validation set; infinity if the loss is NaN.
        best_epoch: The epoch whose weights a network has; None for a linear model, which
            is not trained in epochs.
        is_selected: True if the trained model is this candidate, or an ensemble that
            contains this candidate. The ensemble itself is listed last, as "mean of the
            selected candidates".

    Examples:
        >>> Candidate(name="SequenceCNN", parameters=8, valid_loss=0.5).is_selected
        False
    """

    name: str
    parameters: int
    valid_loss: float
    best_epoch: int | None = None
    is_selected: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values, with None for an infinite loss.

        Returns:
            A new dict that ``json.dumps`` accepts.

        Examples:
            >>> Candidate(name="mean", parameters=1, valid_loss=0.5).to_dict()["parameters"]
            1
        """
        loss = self.valid_loss if isfinite(self.valid_loss) else None
        return asdict(self) | {"valid_loss": loss}


def check_selection(train: Any, valid: Any, *, settings: FitSettings, ranks: Ranks) -> None:
    """Raise if ``fit("auto")`` cannot compare models on a validation set."""
    objective = settings.objective
    if ranks.are_several or objective.loss is not None or objective.step is not None:
        raise ArgumentError(
            'model="auto" (--network auto) needs one process and the loss of a built-in '
            "task; choose a network, such as SequenceCNNConfig.for_data(train)"
        )
    for name, part in (("train", train), ("valid", valid)):
        if part is not None:
            check_examples(name, part)
        if part is None or part.encoder is None or part.labels is None:
            raise ArgumentError(
                'model="auto" (--network auto) compares models on a validation set, so '
                "train and valid must be encoded datasets with labels (--valid, "
                "--valid-share); without them, choose a network, such as "
                "SequenceCNNConfig.for_data(train)"
            )


def choose_networks(train: Any, valid: Any, test: Any, *, stranded: bool) -> Config:
    """Return the settings of the network, or the ensemble, that ``fit("auto")`` trains."""
    others = [valid] if test is None else [valid, test]
    config = find_encoder_kind(train.encoder).network(train, *others)
    if not isinstance(config, SequenceCNNConfig) or config.inputs == "counts":
        return config
    if config.aligned:
        return EnsembleConfig(
            tuple(replace(config, weight_decay=it) for it in _ALIGNED_DECAYS)
        )
    # Mean and maximum over all positions suit motifs that may be anywhere.
    pooled = SequenceCNNConfig(
        channels=config.channels,
        outputs=config.outputs,
        inputs=config.inputs,
        vocabulary=config.vocabulary,
    )
    networks = (pooled,) if config == pooled else (config, pooled)
    encoder = train.encoder
    is_dna = isinstance(encoder, OneHot) and encoder.alphabet == "dna"
    # With some settings, an encoder has further channels.
    if is_dna and config.channels == len("ACGT") and not stranded:
        networks = (*networks, replace(pooled, both_strands=True))
    # If only one network suits the records, train it from two different initial weights.
    return EnsembleConfig(networks if len(networks) > 1 else networks * 2)


def select_model(
    job: FitJob,
    state: RunState,
    *,
    baselines: tuple[FittedBaseline, ...],
    objective: BatchLoss,
) -> tuple[FitJob, tuple[Candidate, ...]]:
    """Select the trained networks and linear models with the lowest validation loss."""
    trained, valid = job.trained, dict(job.parts.list_examples())["validation"]
    networks = list_members(trained.model)
    names = _number_equal([_name_network(it) for it in networks])
    named = list(zip(names, networks, strict=True))
    for fitted in baselines:
        linear = fitted.to_network(trained.model.backend)
        if linear is not None:
            named.append((fitted.name, linear))
    labels = np.asarray(valid.labels)
    outputs = [run_model(it, valid, batch_size=trained.batch_size) for _, it in named]

    def loss_of(members: list[int]) -> float:
        mean = np.stack([outputs[it] for it in members]).mean(axis=0)
        return as_comparable(objective.loss_of(trained.model, mean, labels))

    selected = _select_members(loss_of, len(named))
    candidates = tuple(
        Candidate(
            name=name,
            parameters=network.number_of_parameters,
            valid_loss=loss_of([number]),
            best_epoch=_find_best_epoch(state, number, of=len(networks)),
            is_selected=number in selected,
        )
        for number, (name, network) in enumerate(named)
    )
    chosen = _join([named[it][1] for it in sorted(selected)])
    if len(selected) > 1:
        mean = Candidate(
            name="mean of the selected candidates",
            parameters=chosen.number_of_parameters,
            valid_loss=loss_of(selected),
        )
        candidates = (*candidates, mean)
    return replace(job, trained=replace(trained, model=chosen)), candidates


def _name_network(network: Module) -> str:
    """Return the class of a network, and which sequences it accepts."""
    name, config = describe_network(network), config_of(network)
    if not isinstance(config, SequenceCNNConfig):
        return name
    words = [name, "any length" if config.length is None else f"length {config.length}"]
    words += ["both strands"] if config.both_strands else []
    if config.weight_decay is not None:
        words.append(f"weight decay {config.weight_decay:g}")
    return ", ".join(words)


def _number_equal(names: list[str]) -> list[str]:
    """Add a number in parentheses to each name that occurs several times."""
    return [
        f"{name} ({names[:position].count(name) + 1})" if names.count(name) > 1 else name
        for position, name in enumerate(names)
    ]


def name_model(model: Module, candidates: tuple[Candidate, ...]) -> str:
    """Return the name of a model: its network, or the candidates that were selected."""
    names = [it.name for it in candidates if it.is_selected]
    if len(names) > 1:
        return f"ensemble of {'; '.join(names)}"
    return names[0] if names else describe_network(model)


def _select_members(loss_of: Callable[[list[int]], float], count: int) -> list[int]:
    """Select the best candidate, then add the others that lower the loss of the mean."""
    # Source: Caruana et al., Ensemble selection from libraries of models, ICML 2004.
    selected, lowest = list[int](), inf
    while len(selected) < min(count, _MAX_MEMBERS):
        rest = [it for it in range(count) if it not in selected]
        losses = [loss_of([*selected, it]) for it in rest]
        if selected and min(losses) >= lowest * (1 - _MIN_GAIN):
            break
        selected.append(rest[losses.index(min(losses))])
        lowest = min(losses)
    return selected


def _find_best_epoch(state: RunState, number: int, *, of: int) -> int | None:
    """Return the epoch whose weights a network has; None for a linear model."""
    if number >= of:
        return None
    losses = [row.get(candidate_key(number + 1)) for row in state.history]
    found = [
        (loss, epoch) for epoch, loss in enumerate(losses, start=1) if loss is not None
    ]
    # If all losses are NaN, the weights are those of the first epoch.
    return min(found, default=(inf, 1))[1] if of > 1 else state.best_epoch


def _join(members: list[Any]) -> Module:
    """Return an ensemble of trained networks. A single network is copied.

    The copy is trainable, and its parameters have the paths of a single network.
    """
    first, configs = members[0], tuple(it.config for it in members)
    if len(members) == 1:
        return configs[0].init(first.backend, Key(0)).load_record(first.to_record()).eval()
    record = {
        f"members.{number}.{path}": value
        for number, member in enumerate(members)
        for path, value in member.to_record().items()
    }
    model = EnsembleConfig(configs).init(first.backend, Key(0))
    return model.load_record(record).eval()
