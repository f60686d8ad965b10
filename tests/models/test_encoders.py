"""Each encoder has a default network; networks for other inputs reject its output."""

import re
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.encode import Integer, Kmer, OneHot, Quality, Tokens
from seqloom.errors import ArgumentError, ShapeError
from seqloom.infer._loop import run_model

TESTED_ENCODERS = [
    Tokens("dna"),
    Tokens("dna", k=3, add_special_tokens=False),
    Kmer(3),
    Kmer(2, padding=-1),
    Kmer(2, counts=True),
    Integer("dna"),
    Integer("dna", dtype="uint8"),
    Quality(),
    Quality(values="error_probability"),
    Quality(dtype="uint8"),
    Quality(dtype="bfloat16"),
    OneHot("dna", dtype="uint8"),
    OneHot("dna", dtype="bfloat16"),
]


@pytest.fixture
def reads(tmp_path):
    """Make FASTQ files; half of the reads contain TATA with low quality in the middle."""

    def make(encoder, *, lengths=(20,), count=32):
        rng, path = np.random.default_rng(count), tmp_path / "reads.fq"
        with path.open("w") as file:
            for number in range(count):
                length = lengths[number // 2 % len(lengths)]
                bases, marks = ["A" * 4, "I" * 4], ["TATA", "#" * 4]
                middle = marks if number % 2 else bases
                sides = ["".join(rng.choice([*"ACG"], length - 4)), "I" * (length - 4)]
                lines = [
                    side[:8] + it + side[8:] for side, it in zip(sides, middle, strict=True)
                ]
                file.write(f"@r{number}\n{lines[0]}\n+\n{lines[1]}\n")
        labels = {f"r{number}": "ny"[number % 2] for number in range(count)}
        return sl.data.SequenceDataset(path, labels=labels, encoder=encoder)

    return make


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("encoder", "lengths"),
    [(it, (20,)) for it in TESTED_ENCODERS]
    + [(it, (16, 20, 33)) for it in TESTED_ENCODERS[::3]],
    ids=str,
)
def test_a_network_for_each_encoder_trains_and_scores_equally_after_loading(
    reads, tmp_path, encoder, lengths
):
    data = reads(encoder, lengths=lengths)
    config = sl.models.SequenceCNNConfig.for_data(data)
    options: Any = {"epochs": 12, "lr": 1e-2, "batch_size": 8}
    run = sl.train.fit(
        config, data, data, **as_arguments(out=tmp_path / "run", report=False, **options)
    )
    assert run.valid.metrics["accuracy"] > 0.9
    scores = sl.infer.predict(tmp_path / "run", tmp_path / "reads.fq")
    assert scores.to_numpy().tobytes() == run.valid.scores.to_numpy().tobytes()


@pytest.mark.parametrize("encoder", [Tokens("dna"), Integer("dna", padding=-1), Quality()])
@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_networks_for_each_encoder_give_equal_outputs_on_all_backends(
    reads, encoder, backend
):
    data = reads(encoder, lengths=(16, 20), count=8)
    config = sl.models.SequenceCNNConfig.for_data(data)
    numpy = config.init("numpy", sl.Key(1))
    other = config.init(backend, sl.Key(1))
    found = [run_model(model, data, batch_size=8) for model in (numpy, other)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


def test_tokens_are_rows_of_an_embedding():
    config = sl.models.SequenceCNNConfig(
        channels=5, outputs=2, inputs="tokens", vocabulary=7, widths=(8,)
    )
    model = config.init("numpy").eval()
    table = model.reader.embedding.weight.value.numpy()
    tokens = np.array([[6, 0, 3, 3]], np.int32)
    plain = sl.models.SequenceCNNConfig(channels=5, outputs=2, widths=(8,)).init("numpy")
    record = {
        path: array
        for path, array in model.to_record().items()
        if not path.startswith("reader.")
    }
    plain.load_record(sl.record.Record(record)).eval()
    rows = plain.backend.tensor(table[tokens].transpose(0, 2, 1))
    found = model.logits(model.backend.tensor(tokens)).numpy()
    assert found.tobytes() == plain.logits(rows).numpy().tobytes()


@pytest.mark.parametrize("encoder", TESTED_ENCODERS, ids=str)
def test_a_network_of_genotypes_rejects_sequences(reads, encoder):
    data = reads(encoder)
    config = sl.models.GenotypeMLPConfig(variants=20, outputs=2)
    with pytest.raises(ArgumentError, match=r"SequenceCNNConfig\.for_data"):
        sl.train.fit(config, data, epochs=1)
    with pytest.raises(ArgumentError, match="GenotypeMLP reads standardised genotypes"):
        sl.models.GenotypeMLPConfig.for_data(data)


@pytest.mark.parametrize("encoder", TESTED_ENCODERS[:-2], ids=str)
def test_a_network_for_one_hot_channels_rejects_tokens_and_numbers(reads, small, encoder):
    with pytest.raises(ArgumentError, match=r"reads channels, .* creates one that fits"):
        sl.train.fit(small, reads(encoder), epochs=1)


def test_a_network_with_other_tokens_is_rejected(reads):
    config = sl.models.SequenceCNNConfig.for_data(reads(Tokens("dna")))
    with pytest.raises(
        ArgumentError, match=r"tokens of 10 kinds.* returns tokens of 6 kinds"
    ):
        sl.train.fit(config, reads(Integer("dna")), epochs=1)


def test_a_network_of_sequences_rejects_genotypes(cohort):
    config = sl.models.SequenceCNNConfig(channels=4, outputs=1)
    with pytest.raises(ArgumentError, match="use GenotypeMLPConfig"):
        sl.train.fit(config, cohort(), epochs=1)


def test_channels_last_encoders_are_rejected_with_a_hint(reads):
    data = reads(OneHot("dna", channels="last"))
    with pytest.raises(ArgumentError, match=re.escape('channels="first"')):
        sl.models.SequenceCNNConfig.for_data(data)


@pytest.mark.parametrize(
    "shape", [(2, 4, 9), (2,)], ids=["channels instead of tokens", "no places"]
)
def test_a_network_rejects_inputs_of_another_shape(shape):
    config = sl.models.SequenceCNNConfig(
        channels=4, outputs=2, inputs="tokens", vocabulary=4
    )
    model = config.init("numpy").eval()
    with pytest.raises(ShapeError, match="reads tokens, arrays of 2 axes"):
        model.logits(model.backend.tensor(np.zeros(shape, np.int32)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"inputs": "tokens"},
        {"vocabulary": 4},
        {"inputs": "tokens", "vocabulary": 0},
        {"inputs": "numbers"},
        {"inputs": "counts"},
        {"aligned": 8},
        {"aligned": -1, "length": 9},
    ],
    ids=str,
)
def test_inconsistent_input_settings_are_rejected(wrong):
    values: Any = {"channels": 4, "outputs": 2, **wrong}
    with pytest.raises(ArgumentError):
        sl.models.SequenceCNNConfig(**values)


def test_settings_of_version_1_are_read():
    old = {"class": "SequenceCNNConfig", "version": 1, "channels": 4, "outputs": 3}
    config = sl.models.SequenceCNNConfig.from_dict(old)
    assert (config.inputs, config.aligned) == ("channels", 0)
