"""Choose the network of `seqloom train`, its encoder and its augmentation."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console

from seqloom.augment import ReverseComplement
from seqloom.cli._options import Count, Flag
from seqloom.cli._read import AlphabetOptions, CommandInputs
from seqloom.data import Dataset
from seqloom.encode import OneHot, Tokens
from seqloom.errors import ArgumentError
from seqloom.infer._kinds import Kind
from seqloom.models import EnsembleConfig, ESM2LoRAConfig
from seqloom.nn import Config
from seqloom.train._ranks import have_several_processes

_ENCODING_KEYS = ("unknown", "case", "rare", "symbols", "rna_as_dna")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions:
    """Architecture of the network; by default it depends on the data.

    Args:
        network: auto trains several networks and linear models, and keeps the model with
            the lowest validation loss, or the mean of up to three. standard trains one
            network that suits the data. The default is auto. It is standard without a
            validation set, under torchrun, or if an option such as --width sets the
            network.
        width: Number of features of each convolution, or of each hidden layer for a .bed;
            pass one number for each layer.
        kernel_size: Length of the convolution kernels in residues, an odd number.
        dropout: Dropout probability before the last layer.
        reverse_complement: Replace a random half of the training sequences by their reverse
            complements, chosen again in each epoch.
        finetune: Set to lora to train adapters and a head of a protein language model.
        model: The folder of the ESM-2 network, whose weights do not change.
        rank: Rank of each adapter; by default 8.
        members: Number of networks that are trained together; the prediction is the mean
            output of all networks.
    """

    network: Literal["auto", "standard"] | None = None
    width: Annotated[
        tuple[Count, ...], Parameter(consume_multiple=1, show_default=False)
    ] = ()
    kernel_size: Count | None = None
    dropout: float | None = None
    reverse_complement: Flag = False
    finetune: Literal["lora"] | None = None
    model: Path | None = None
    rank: Count | None = None
    members: Count = 1

    @property
    def architecture(self) -> list[str]:
        """The given options that set the architecture of one network."""
        given, default = asdict(self), asdict(NetworkOptions())
        others = {"network", "reverse_complement"}
        return [
            name for name in given if given[name] != default[name] and name not in others
        ]


def check_network(options: NetworkOptions, kind: Kind) -> None:
    """Raise if network options contradict each other, or FILES are not sequences."""
    if options.network == "auto" and options.architecture:
        raise ArgumentError(
            f"--network auto and --{options.architecture[0].replace('_', '-')} exclude "
            "each other, because auto chooses the settings of the networks"
        )
    given = {"--model": options.model is not None, "--rank": options.rank is not None}
    names = [name for name, is_given in given.items() if is_given]
    if options.finetune is None and names:
        raise ArgumentError(f"{' and '.join(names)}: only with --finetune lora")
    if options.finetune is None:
        return
    if options.model is None:
        raise ArgumentError(
            "--finetune lora needs --model FOLDER: config.json and model.safetensors of an "
            "ESM-2 network"
        )
    if not kind.can_finetune:
        raise ArgumentError(
            f"--finetune lora needs protein sequences, but FILES are {kind.name}"
        )


def select_network(
    options: NetworkOptions,
    kind: Kind,
    train: Dataset,
    *,
    valid: Dataset | None,
    test: Dataset | None,
) -> Config | str:
    """Choose a network or an ensemble for the training records, or ``"auto"``."""
    can_select = (
        not options.architecture and valid is not None and not have_several_processes()
    )
    network = options.network or ("auto" if can_select else "standard")
    if network == "auto":
        return network
    others = [part for part in (valid, test) if part is not None]
    config = _select_member(options, kind, train, *others)
    return config if options.members == 1 else EnsembleConfig.of(config, options.members)


def _select_member(
    options: NetworkOptions, kind: Kind, train: Dataset, *others: Dataset
) -> Config:
    """Choose a network for the training records, and apply the options."""
    changes: dict[str, Any] = {}
    if options.dropout is not None:
        changes["dropout"] = options.dropout
    if options.model is None:
        changes |= {"width": options.width} if options.width else {}
        if options.kernel_size is not None:
            changes["kernel_size"] = options.kernel_size
        return kind.network(train, *others, **changes)
    if options.kernel_size is not None:
        raise ArgumentError("--finetune lora has no convolutions: omit --kernel-size")
    # With a language model, --width sets the layers of the head.
    changes |= {"hidden": options.width} if options.width else {}
    changes |= {} if options.rank is None else {"rank": options.rank}
    return ESM2LoRAConfig.for_data(train, options.model, **changes)


def select_encoding(
    console: Console,
    options: NetworkOptions,
    inputs: CommandInputs,
    *,
    letters: AlphabetOptions,
) -> dict[str, Any]:
    """Choose the encoder and the augmentation for the alphabet of the training records."""
    policy = {name: inputs.given[name] for name in _ENCODING_KEYS if name in inputs.given}
    alphabet: str = letters.alphabet
    if options.finetune:
        _check_protein(alphabet, policy)
        encoder = Tokens("esm2", **policy)
        return {"encoder": encoder, "augment": select_augmentation("protein", options)}
    if not inputs.kind.has_letters:
        select_augmentation(inputs.kind.name, options)  # raises for --reverse-complement
        return {}
    if alphabet == "auto" and letters.rna_as_dna:
        alphabet = "dna"
        console.print("alphabet dna (--rna-as-dna)")
    elif alphabet == "auto":
        alphabet = inputs.kind.guess_alphabet(inputs.files, inputs.given)
        console.print(f"alphabet {alphabet}, inferred from the training files")
    encoder = OneHot(alphabet, **policy)
    return {"encoder": encoder, "augment": select_augmentation(alphabet, options)}


def _check_protein(alphabet: str, policy: dict[str, Any]) -> None:
    """Raise for an alphabet or a residue option that ESM-2 does not support."""
    if alphabet not in {"auto", "protein"}:
        raise ArgumentError(f"--finetune lora reads proteins, not --alphabet {alphabet}")
    strange = [name for name in ("unknown", "rare", "rna_as_dna") if name in policy]
    if strange:
        raise ArgumentError(
            f"--{strange[0].replace('_', '-')}: not with --finetune lora, because ESM-2 "
            "has a token for each residue"
        )


def select_augmentation(alphabet: str, options: NetworkOptions) -> ReverseComplement | None:
    """Return the augmentation of the training sequences, if any."""
    if not options.reverse_complement:
        return None
    if alphabet == "dna" or alphabet == "rna":  # noqa: PLR1714 - narrows the type
        return ReverseComplement(p=0.5, alphabet=alphabet)
    raise ArgumentError(f"--reverse-complement is for DNA and RNA, not {alphabet}")
