"""ESM2: the protein language model of Lin et al. 2023."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from seqloom._arguments import as_path
from seqloom._key import Key
from seqloom.errors import ArgumentError
from seqloom.models._esm2_config import INT8, ESM2Fields, check_dtype
from seqloom.models._esm2_folder import (
    check_size,
    collect,
    find_heads,
    index,
    read_settings,
    round_layers,
    save_folder,
)
from seqloom.models._esm2_layers import (
    ESM2Layer,
    ESM2TokenHead,
    Given,
    Layout,
    RotaryRates,
    find_contacts,
    lay_out,
    number_layers,
)
from seqloom.nn import Buffer, Embedding, Int8Linear, LayerNorm, Linear, LoRALinear, Module
from seqloom.record import load
from seqloom.record._facts import checksum_of
from seqloom.tensor import backend as find_backend

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from seqloom.tensor import Backend, Tensor


@dataclass(frozen=True)
class ESM2Config(ESM2Fields):
    """Settings of an `ESM2`; `of` gives those of a published network.

    Args:
        layers: Number of layers.
        width: Numbers a position.
        heads: Heads of each attention; they divide the width into even parts.
        hidden: Width of the network after each attention; None: four times `width`.
        vocabulary: How many different tokens there are.
        pad_token: Token of padding.
        mask_token: Token that hides a residue.
        eps: Number added to the variance in each layer norm.
        base: Base of the wavelengths of the rotary positions.
        token_dropout: Whether the embedding of a mask is zero, and that of the other
            tokens is scaled by the share of masks in their sequence, as in ESM-2's
            training.
        has_lm_head: Whether there is a head that predicts tokens.
        has_contact_head: Whether there is a head that predicts contacts of residues.

    Raises:
        ArgumentError: A number makes no sense.

    Examples:
        >>> import seqloom as sl
        >>> sl.models.ESM2Config(layers=2, width=16, heads=4).init(
        ...     "numpy"
        ... ).number_of_parameters
        7466
    """

    def build(self) -> ESM2:
        """Make the network, not yet bound to a backend.

        Returns:
            A new network.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.ESM2Config(layers=2, width=16, heads=4)
            >>> config.build().config == config
            True
        """
        return ESM2(self)


class ESM2(Module):
    """ESM-2, a transformer over proteins (Lin et al. 2023), with its published numerics.

    Sequences are packed end to end, without padding, or padded. Token ids are those of
    ``sl.encode.Tokens("esm2")``: ``<cls>``, the residues, ``<eos>``. Positions are rotary,
    with angles in float32 whatever the type of the weights; the embeddings are scaled by
    the share of masks in each sequence (0.88 without masks), in evaluation too. There is
    no dropout.

    Args:
        config: Its settings.

    Attributes:
        identity: What `sl.infer.embed` writes into a plan instead of the checksum of the
            weights; empty but for weights that were rounded to 8 bits, which differ in
            their last bits between processors: the checksum of those before.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> model = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy")
        >>> ids = np.array([0, 20, 15, 2, 0, 4, 2])  # <cls> M K <eos>, <cls> L <eos>
        >>> model(ids, cu_seqlens=[0, 4, 7]).shape
        (7, 16)
        >>> model(np.array([[0, 20, 15, 2], [0, 4, 2, 1]])).shape
        (2, 4, 16)
    """

    config: ESM2Config
    embedding: Embedding
    layers: list[ESM2Layer]
    norm: LayerNorm
    lm_head: ESM2TokenHead | None
    contact_head: Linear | None
    rates: Buffer
    identity: str

    def __init__(self, config: ESM2Config) -> None:
        self.config, self.identity = config, ""
        self.embedding = Embedding(config.vocabulary, config.width)
        self.layers = [ESM2Layer(config) for _ in range(config.layers)]
        self.norm = LayerNorm(config.width, config.eps)
        self.lm_head = ESM2TokenHead(config) if config.has_lm_head else None
        maps = config.layers * config.heads
        self.contact_head = Linear(maps, 1) if config.has_contact_head else None
        self.rates = Buffer(
            (config.width // config.heads // 2,),
            RotaryRates(config.base),
            least_dtype="float32",
            optional=True,
        )

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        backend: Backend | str = "numpy",
        dtype: str = "float32",
    ) -> Self:
        """Read a network from a folder as Hugging Face's transformers write it.

        Args:
            folder: Folder with ``config.json`` and ``model.safetensors``, or several files
                of weights and their index. The head of ``EsmForMaskedLM`` may be absent.
            backend: A backend or its name.
            dtype: Type of weights and hidden states: ``"float32"``, ``"float64"``, or, on
                devices of torch and JAX that multiply in it, ``"bfloat16"`` or
                ``"float16"``. On a CPU also ``"int8"``: the linear layers have weights of
                8 bits, by `sl.nn.quantize_int8`; all else is in float32, the heads too.

        Returns:
            The network in evaluation mode; its `load_report` says what was converted.

        Raises:
            ArgumentError: `dtype` is none of these.
            BackendError: `dtype` would be slower than float32: half precision on NumPy, on
                JAX's CPU, and on a processor without instructions for it; int8 anywhere
                but on NumPy or on torch on a CPU.
            ConfigError: ``config.json`` does not describe an ESM-2 network.
            MissingFileError: The folder lacks the settings or the weights.
            RecordError: An array is missing, unknown, misshapen or damaged.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.ESM2Config(layers=2, width=16, heads=4)
            >>> config.init("numpy").save("small")
            >>> sl.models.ESM2.load("small").config.layers
            2
        """
        found = find_backend(backend) if isinstance(backend, str) else backend
        name, place = check_dtype(found, dtype), as_path("folder", folder)
        settings, arrays = read_settings(place), index(load(place))
        config = ESM2Config(**settings, **find_heads(arrays))
        check_size(config, arrays, str(place))
        network = cls(config).bind(found, Key(0))
        network.to(found, "float32" if name == INT8 else name)
        network.load_record(collect(network, arrays, str(place))).eval()
        if name == INT8:
            network.identity = f"{checksum_of(network.to_record())}:{INT8}"
            round_layers(network, config.vocabulary)
        return network

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that `load` and Hugging Face's transformers read.

        It gets ``config.json`` and ``model.safetensors``, in the layout of
        ``EsmForMaskedLM``; of ``EsmModel`` where there is no head that predicts tokens.
        Each file is whole or absent.

        Args:
            folder: Folder, which is made if it does not exist.

        Raises:
            ArgumentError: The network has adapters or layers of 8 bits, which the layout
                does not know.
            FileError: A file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> config = sl.models.ESM2Config(layers=2, width=16, heads=4)
            >>> config.init("numpy").save("small")
            >>> sorted(path.name for path in Path("small").iterdir())
            ['config.json', 'model.safetensors']
        """
        if any(self.named(LoRALinear)):
            raise ArgumentError(
                "the network has adapters: sl.nn.merge_lora(network) joins them with its "
                "layers, or write network.to_record(), which holds the adapters alone"
            )
        if any(self.named(Int8Linear)):
            raise ArgumentError(
                "the network has layers of 8 bits, which transformers cannot read; write "
                "its record, model.to_record().save(file), or save it before it is rounded"
            )
        save_folder(self, self.config, as_path("folder", folder))

    def __call__(
        self,
        input_ids: Any,
        cu_seqlens: Any = None,
        max_seqlen: int | None = None,
        *,
        mask: Any = None,
        layers: Sequence[int] | None = None,
    ) -> Any:
        """Compute the hidden states of each position.

        Args:
            input_ids: Token ids ``(total,)`` of sequences that lie end to end, ``(l,)`` of
                one, or ``(n, l)`` with padding.
            cu_seqlens: Start of each packed sequence, and the total, ``(n + 1,)``.
            max_seqlen: Length of the longest of these; needed on a device and in a
                compiled step.
            mask: ``(n, l)``, 1 or true at real positions; default: where `input_ids` is
                not the token of padding.
            layers: Numbers of the hidden states to return: 0 for the embeddings, i after
                layer i, and the last one, -1, after the last layer norm too.

        Returns:
            The last hidden states, ``(total, width)`` or ``(n, l, width)``; with `layers`
            a list of these. What stands at padding means nothing.

        Raises:
            ArgumentError: `layers` or `cu_seqlens` do not fit, or `mask` comes with them.
            OutOfRangeError: A token is not in the vocabulary.
            ShapeError: The shapes do not fit.
        """
        layout = self._lay_out(Given(input_ids, cu_seqlens, max_seqlen, mask))
        numbers = number_layers((-1,) if layers is None else layers, len(self.layers))
        states = self._run(layout, set(numbers))
        shape = (*layout.shape, self.config.width)
        found = [states[number].reshape(shape) for number in numbers]
        return found[0] if layers is None else found

    def logits(self, hidden: Tensor) -> Tensor:
        """Score each token of the vocabulary at each position.

        Args:
            hidden: The last hidden states ``(..., width)``.

        Returns:
            Numbers before the softmax, ``(..., vocabulary)``.

        Raises:
            ArgumentError: The network has no head that predicts tokens.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy")
            >>> model.logits(model(np.array([0, 20, 32, 2]))).shape
            (4, 33)
        """
        if self.lm_head is None:
            raise ArgumentError(
                "the network has no head that predicts tokens (lm_head); load a folder of "
                "EsmForMaskedLM, or make it with has_lm_head=True and train it"
            )
        return self.lm_head(hidden, self.embedding.weight.value)

    def contacts(
        self,
        input_ids: Any,
        cu_seqlens: Any = None,
        max_seqlen: int | None = None,
        *,
        mask: Any = None,
    ) -> list[Tensor]:
        """Predict which residues of each sequence touch, from the attention of all heads.

        The maps of all heads, without ``<cls>`` and ``<eos>``, are made symmetric and
        corrected for what each residue explains; a logistic regression weighs them (Rao et
        al. 2021). The weights of attention are computed in float32 at least.

        Args:
            input_ids: Token ids as in a call of the network; each sequence begins with
                ``<cls>`` and ends with ``<eos>``.
            cu_seqlens: Start of each packed sequence, and the total.
            max_seqlen: Length of the longest of these.
            mask: 1 or true at real positions of padded sequences, which are padded at
                their ends.

        Returns:
            For each sequence the probabilities of contact ``(residues, residues)``.

        Raises:
            ArgumentError: The network has no head that predicts contacts.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy")
            >>> [x.shape for x in model.contacts(np.array([0, 20, 15, 4, 2]))]
            [(3, 3)]
        """
        if self.contact_head is None:
            raise ArgumentError(
                "the network has no head that predicts contacts (contact_head); load a "
                "folder that has one, or make it with has_contact_head=True and train it"
            )
        layout = self._lay_out(Given(input_ids, cu_seqlens, max_seqlen, mask))
        x = self._embed_tokens(layout)
        return find_contacts(self.layers, self.contact_head, x, layout=layout)

    def embed(
        self, batch: Mapping[str, Any], layers: Sequence[int] = (-1,)
    ) -> dict[int, Tensor]:
        """Compute hidden states of a packed or padded batch.

        Args:
            batch: Batch of `sl.data.PackedStream`: ``input_ids``, ``cu_seqlens`` and
                ``max_seqlen``; or a padded one: ``input_ids`` and ``mask``, ``(n, l)``.
            layers: Numbers of the hidden states, as in a call of the network.

        Returns:
            Hidden states ``(total, width)`` or ``(n, l, width)`` by the number of their
            layer.

        Raises:
            ArgumentError: A layer does not exist.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy")
            >>> batch = {"input_ids": np.array([0, 20, 2]), "cu_seqlens": [0, 3]}
            >>> {
            ...     number: x.shape
            ...     for number, x in model.embed(batch, layers=(0, -1)).items()
            ... }
            {0: (3, 16), -1: (3, 16)}
        """
        names = ("mask",) if "mask" in batch else ("cu_seqlens", "max_seqlen")
        options = {name: batch[name] for name in names if name in batch}
        found = self(batch["input_ids"], **options, layers=layers)
        return dict(zip(layers, found, strict=True))

    def _lay_out(self, given: Given) -> Layout:
        """Describe where the sequences lie."""
        return lay_out(self.config, self.rates.value, given)

    def _run(self, layout: Layout, wanted: set[int]) -> dict[int, Tensor]:
        """Compute the wanted hidden states ``(rows, width)``, and nothing after them."""
        x = self._embed_tokens(layout)
        states = {0: x}
        for number in range(1, max(wanted) + 1):
            x = self.layers[number - 1](x, layout)
            states |= {number: x} if number in wanted else {}
        if len(self.layers) in wanted:
            states[len(self.layers)] = self.norm(x)
        return states

    def _embed_tokens(self, layout: Layout) -> Tensor:
        """Return the scaled embeddings, in the type of the weights."""
        x = self.embedding(layout.tokens)
        if layout.factor is None:
            return x
        return (x.astype(layout.factor.dtype) * layout.factor).astype(x.dtype)
