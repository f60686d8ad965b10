"""The program seqloom-run, and exported models of each kind with their trained models."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seqloom as sl
from exported_networks import Dilated, Recurrent, ready
from seqloom import _demo
from seqloom.cli._export import PROGRAM

REPOSITORY = Path(__file__).parents[2]
DNA_ENCODER = sl.encode.OneHot("dna")
BINARY_TASK = sl.models.Classify(("no", "yes"))


def splice() -> Any:
    """Return the network of the demo, which reads 60 bases."""
    config = sl.models.SequenceCNNConfig(
        channels=4, outputs=3, length=60, widths=(8, 8), pools=(1, 2)
    )
    task = sl.models.Classify(("EI", "IE", "N"))
    return sl.models.Trained(ready(config.init("numpy")), DNA_ENCODER, task, batch_size=256)


def genotypes() -> Any:
    """Return a network of the demo's variants, standardised by the demo's samples."""
    data = sl.data.GenotypeDataset(
        _demo.example_path("genotypes/example.bed"), labels=False
    )
    data = data.with_encoder(data.encoder.fit(data))
    network = sl.models.GenotypeMLPConfig(variants=int(data.lengths[0]), outputs=1)
    task = sl.models.Regress(("trait",), mean=(0.5,), deviation=(2.0,))
    return sl.models.Trained(ready(network.init("numpy")), data.encoder, task, 64)


def counts() -> Any:
    """Return a network of k-mer counts, for sequences of any length."""
    encoder = sl.encode.Kmer(3, counts=True)
    config = sl.models.SequenceCNNConfig(channels=64, outputs=2, length=1, inputs="counts")
    task = sl.models.Multilabel(("a", "b"))
    return sl.models.Trained(ready(config.init("numpy")), encoder, task, 32)


def of_any_length(network: Any) -> Callable[[], Any]:
    """Return a network of residues, for sequences of any length."""
    return lambda: sl.models.Trained(
        ready(network()), DNA_ENCODER, BINARY_TASK, batch_size=16
    )


MODEL_BUILDERS: dict[str, Callable[[], Any]] = {
    "splice": splice,
    "genotypes": genotypes,
    "counts": counts,
    "lstm": of_any_length(Recurrent),
    "dilated": of_any_length(Dilated),
}


@pytest.fixture(scope="session")
def program() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run seqloom-run with arguments."""
    if not PROGRAM.is_file():
        pytest.skip(f"{PROGRAM} is not built: make test builds it")

    def run(*words: Any, **options: Any) -> subprocess.CompletedProcess[bytes]:
        command = [str(PROGRAM), *map(str, words)]
        return subprocess.run(command, capture_output=True, check=False, **options)

    return run


@pytest.fixture(scope="session")
def exported(tmp_path_factory) -> Callable[[str], tuple[Any, Path]]:
    """Return a trained model of a kind and its export, which are created only once."""
    made: dict[str, tuple[Any, Path]] = {}

    def make(kind: str) -> tuple[Any, Path]:
        if kind not in made:
            trained = MODEL_BUILDERS[kind]()
            path = tmp_path_factory.mktemp("exported") / kind
            sl.export.save(trained, path)
            made[kind] = trained, path
        return made[kind]

    return make


@pytest.fixture(scope="session")
def library():
    """The shared library, as cargo builds it."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("the Rust toolchain is not installed")
    command = [cargo, "build", "--profile", "bench", "--quiet", "--package", "seqloom-c"]
    command.append("--message-format=json")
    built = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True)
    names = [word for word in built.stdout.decode().split('"') if "libseqloom." in word]
    return Path(next(name for name in names if name.endswith((".so", ".dylib"))))


@pytest.fixture(scope="session")
def compiler():
    """A C compiler."""
    found = shutil.which("cc")
    if found is None:
        pytest.skip("there is no C compiler")
    return found
