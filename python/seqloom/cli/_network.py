"""From options to a network's settings, and to what changes its training part."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from seqloom.cli._options import NetworkOptions
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from seqloom.nn import Config


def network_for(options: NetworkOptions, train: Any, *others: Any) -> "Config":
    """Chooses the network that reads such records, and changes what is asked for."""
    from seqloom.data import GenotypeEncoder
    from seqloom.models import GenotypeMLPConfig, SequenceCNNConfig

    if isinstance(train.encoder, GenotypeEncoder):
        return _perceptron(GenotypeMLPConfig.for_data(train), options)
    return _convolutions(SequenceCNNConfig.for_data(train, *others), options)


def augment_for(alphabet: str, options: NetworkOptions) -> Any:
    """Gives what changes the training sequences; None: nothing."""
    if not options.reverse_complement:
        return None
    from seqloom.augment import ReverseComplement

    if alphabet not in {"dna", "rna"}:
        raise ArgumentError(f"--reverse-complement is for DNA and RNA, not {alphabet}")
    return ReverseComplement(p=0.5, alphabet=cast("Any", alphabet))


def _perceptron(config: Any, options: NetworkOptions) -> "Config":
    """Changes the layers behind genotypes."""
    if options.kernel_size is not None:
        raise ArgumentError("--kernel-size is of convolutions, but FILES are genotypes")
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
