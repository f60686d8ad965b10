"""Network and data for both seqloom and PyTorch."""

from dataclasses import replace
from typing import Any

from benchmarks._splice_data import make_batches, read_splice_windows
from benchmarks.train_cnn._seqloom_network import SeqloomTrainer
from seqloom.cli._demo import NETWORK_SETTINGS
from seqloom.models import SequenceCNNConfig

EPOCHS = int(NETWORK_SETTINGS["epochs"])
LR = NETWORK_SETTINGS["lr"]
BATCH_SIZE = 64


def prepare_data() -> tuple[SequenceCNNConfig, list[dict[str, Any]]]:
    """Return the network of the demo and the batches of one epoch."""
    train = read_splice_windows("train")
    return SequenceCNNConfig.for_data(train), make_batches(train, BATCH_SIZE)


def disable_dropout(config: SequenceCNNConfig) -> SequenceCNNConfig:
    """Disable dropout, so that losses can be compared."""
    return replace(config, dropout=0.0)


def make_trainer(name: str, config: SequenceCNNConfig, threads: int) -> Any:
    """Create the network in seqloom or PyTorch; import torch only if needed."""
    ours = SeqloomTrainer(config, threads=threads, lr=LR)
    if name == "seqloom":
        return ours
    from benchmarks.train_cnn._torch_network import TorchTrainer

    return TorchTrainer(config, ours.weights(), threads=threads, lr=LR)
