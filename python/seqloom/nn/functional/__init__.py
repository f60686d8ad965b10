"""Functions of tensors without state, named as in ``torch.nn.functional``."""

from seqloom.nn._adaptive_pooling import adaptive_avg_pool1d, adaptive_max_pool1d
from seqloom.nn._attention import (
    attention_varlen,
    rotary_embedding,
    scaled_dot_product_attention,
)
from seqloom.nn._batch_norm import batch_norm
from seqloom.nn._binary_losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    sigmoid_focal_loss,
)
from seqloom.nn._class_losses import cross_entropy, focal_loss, nll_loss
from seqloom.nn._convolution import conv1d, conv2d
from seqloom.nn._linear import dropout, embedding, linear
from seqloom.nn._losses import (
    huber_loss,
    kl_div,
    l1_loss,
    log1p_mse_loss,
    mse_loss,
    multinomial_nll,
    poisson_nll_loss,
    profile_loss,
    smooth_l1_loss,
)
from seqloom.nn._norms import cosine_similarity, group_norm, layer_norm, normalize, rms_norm
from seqloom.nn._operands import masked_max, masked_mean
from seqloom.nn._pooling import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from seqloom.nn._rectifiers import celu, elu, gelu, leaky_relu, mish, prelu, relu, silu
from seqloom.nn._recurrent import gru, lstm
from seqloom.nn._shapes import interpolate, one_hot, pad
from seqloom.nn._sigmoids import (
    glu,
    log_softmax,
    logsigmoid,
    sigmoid,
    softmax,
    softplus,
    softsign,
    tanh,
)
from seqloom.nn._transposed import conv_transpose1d, conv_transpose2d

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
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
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "focal_loss",
    "gelu",
    "glu",
    "group_norm",
    "gru",
    "huber_loss",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log1p_mse_loss",
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
    "profile_loss",
    "relu",
    "rms_norm",
    "rotary_embedding",
    "scaled_dot_product_attention",
    "sigmoid",
    "sigmoid_focal_loss",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "softsign",
    "tanh",
]
