"""ESM-2 with linear layers of 8 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom.encode import Tokens
from seqloom.nn import quantize_int8

if TYPE_CHECKING:
    from seqloom.nn import Module

# Proteins by which the inputs of layers are evened out: ubiquitin, the alpha chain of
# haemoglobin, lysozyme and the green fluorescent protein.
_PROTEINS = """
MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG

MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKKVADALTNAVAHVDDMPNALSAL
SDLHAHKLRVDPVNFKLLSHCLLVTLAAHLPAEFTPAVHASLDKFLASVSTVLTSKYR

KVFGRCELAAAMKRHGLDNYRGYSLGNWVCAAKFESNFNTQATNRNTDGSTDYGILQINSRWWCNDGRTPGSRNLCNIPCSALL
SSDITASVNCAKKIVSDGNGMNAWVAWRNRCKGTDVQAWIRGCRL

MSKGEELFTGVVPILVELDGDVNGHKFSVSGEGEGDATYGKLTLKFICTTGKLPVPWPTLVTTFSYGVQCFSRYPDHMKQHDFF
KSAMPEGYVQERTIFFKDDGNYKTRAEVKFEGDTLVNRIELKGIDFKEDGNILGHKLEYNYNSHNVYIMADKQKNGIKVNFKIR
HNIEDGSVQLADHYQQNTPIGDGPVLLPDNHYLSTQSALSKDPNEKRDHMVLLEFVTAAGITHGMDELYK
"""


def round_layers(network: Module, vocabulary: int) -> None:
    """Replaces the linear layers of a network, but for those of its heads."""
    proteins = ["".join(lines.split()) for lines in _PROTEINS.split("\n\n")]
    tokens, starts = Tokens("esm2").flat(proteins)
    # A network of our own may know fewer tokens.
    sample = tokens % vocabulary, starts, int(np.diff(starts).max())
    quantize_int8(network, sample, targets=["layers.*"])
