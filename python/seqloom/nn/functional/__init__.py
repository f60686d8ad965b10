"""Functions of tensors without state, named as in ``torch.nn.functional``."""

from seqloom.nn.functional._activations import (
    elu,
    gelu,
    glu,
    leaky_relu,
    log_softmax,
    logsigmoid,
    mish,
    relu,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
)
from seqloom.nn.functional._attention import attention_varlen, scaled_dot_product_attention
from seqloom.nn.functional._class_losses import cross_entropy, nll_loss
from seqloom.nn.functional._columns import fold, unfold
from seqloom.nn.functional._convolutions import (
    conv1d,
    conv2d,
    conv_transpose1d,
    conv_transpose2d,
)
from seqloom.nn.functional._interpolate import interpolate
from seqloom.nn.functional._layers import dropout, linear
from seqloom.nn.functional._lookup import embedding, one_hot, pad
from seqloom.nn.functional._losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
)
from seqloom.nn.functional._masked import masked_max, masked_mean
from seqloom.nn.functional._norms import (
    batch_norm,
    cosine_similarity,
    layer_norm,
    normalize,
    rms_norm,
)
from seqloom.nn.functional._pooling import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d

__all__ = [
    "attention_varlen",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv_transpose1d",
    "conv_transpose2d",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "fold",
    "gelu",
    "glu",
    "huber_loss",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "masked_max",
    "masked_mean",
    "max_pool1d",
    "max_pool2d",
    "mish",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "poisson_nll_loss",
    "relu",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "tanh",
    "unfold",
]
