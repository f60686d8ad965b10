"""From options to a network's settings, and to what changes its training part."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from seqloom.cli._options import NetworkOptions
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from pathlib import Path

    from seqloom.nn import Config


def network_for(options: NetworkOptions, train: Any, *others: Any) -> "Config":
    """Chooses the network that reads such records, and changes what is asked for."""
    from seqloom.data import EmbeddingEncoder, GenotypeEncoder
    from seqloom.models import GenotypeMLPConfig, HeadConfig, SequenceCNNConfig

    if isinstance(train.encoder, GenotypeEncoder):
        return _perceptron(GenotypeMLPConfig.for_data(train), options, "genotypes")
    if isinstance(train.encoder, EmbeddingEncoder):
        return _perceptron(HeadConfig.for_data(train), options, "embeddings")
    if options.finetune:
        return _adapters(train, options)
    return _convolutions(SequenceCNNConfig.for_data(train, *others), options)


def augment_for(alphabet: str, options: NetworkOptions) -> Any:
    """Gives what changes the training sequences; None: nothing."""
    if not options.reverse_complement:
        return None
    from seqloom.augment import ReverseComplement

    if alphabet not in {"dna", "rna"}:
        raise ArgumentError(f"--reverse-complement is for DNA and RNA, not {alphabet}")
    return ReverseComplement(p=0.5, alphabet=cast("Any", alphabet))


def check_network(options: NetworkOptions, kind: str) -> None:
    """Refuses options of adapters that do not go together, or have no sequences."""
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
    if kind != "sequences":
        raise ArgumentError(f"--finetune lora reads protein sequences, FILES are {kind}")


def _adapters(train: Any, options: NetworkOptions) -> "Config":
    """Puts adapters to a language model; the widths are those of its head."""
    from seqloom.models import ESM2LoRAConfig

    if options.kernel_size is not None:
        raise ArgumentError("--kernel-size is of convolutions: not with --finetune lora")
    chosen = {"hidden": options.width or None, "dropout": options.dropout}
    base = cast("Path", options.model)
    changes = _drop_unset(rank=options.rank, **chosen)
    return ESM2LoRAConfig.for_data(train, base, **changes)


def _perceptron(config: Any, options: NetworkOptions, kind: str) -> "Config":
    """Changes the layers behind genotypes or embeddings."""
    if options.kernel_size is not None:
        raise ArgumentError(f"--kernel-size is of convolutions, but FILES are {kind}")
    return replace(
        config, **_drop_unset(hidden=options.width or None, dropout=options.dropout)
    )


def _convolutions(config: Any, options: NetworkOptions) -> "Config":
    """Changes the convolutions; each new one is as the last of those that were chosen."""
    widths = options.width or config.widths
    kernels = options.kernel_size or _repeat_last(config.kernel_sizes, len(widths))
    pools = _repeat_last(config.pools, len(widths))
    return replace(
        config,
        widths=widths,
        kernel_size=kernels if options.width or options.kernel_size else config.kernel_size,
        pools=pools,
        **_drop_unset(dropout=options.dropout),
    )


def _repeat_last(sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Gives as many sizes as are wanted; those that lack are as the last one."""
    return (*sizes[:count], *sizes[-1:] * (count - len(sizes)))


def _drop_unset(**settings: Any) -> dict[str, Any]:
    """Leaves out what is left to the data."""
    return {name: value for name, value in settings.items() if value is not None}
