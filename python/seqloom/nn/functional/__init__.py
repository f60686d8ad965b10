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
from seqloom.nn.functional._adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
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
from seqloom.nn.functional._count_losses import multinomial_nll
from seqloom.nn.functional._focal_losses import focal_loss, sigmoid_focal_loss
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
    group_norm,
    instance_norm,
    layer_norm,
    normalize,
    rms_norm,
)
from seqloom.nn.functional._piecewise import (
    celu,
    hardsigmoid,
    hardswish,
    hardtanh,
    prelu,
    relu6,
    selu,
    softsign,
)
from seqloom.nn.functional._pooling import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from seqloom.nn.functional._recurrent import gru, lstm
from seqloom.nn.functional._rotary import rotary_embedding
from seqloom.nn.functional._similarity_losses import cosine_embedding_loss

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "attention_varlen",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "conv1d",
    "conv2d",
    "conv_transpose1d",
    "conv_transpose2d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "focal_loss",
    "fold",
    "gelu",
    "glu",
    "group_norm",
    "gru",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "lstm",
    "masked_max",
    "masked_mean",
    "max_pool1d",
    "max_pool2d",
    "mish",
    "mse_loss",
    "multinomial_nll",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "rotary_embedding",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "sigmoid_focal_loss",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "softsign",
    "tanh",
    "unfold",
]
