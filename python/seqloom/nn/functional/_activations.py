"""Activations."""

from seqloom.tensor import Tensor, apply


def relu(x: Tensor) -> Tensor:
    """``max(x, 0)``.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> relu(sl.tensor.backend("numpy").tensor([-1.0, 2.0])).numpy().tolist()
        [0.0, 2.0]
    """
    return apply("relu", x)


def gelu(x: Tensor) -> Tensor:
    """``x * Phi(x)``, with the exact normal distribution (Hendrycks and Gimpel 2016).

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> gelu(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    return apply("gelu", x)


def sigmoid(x: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> sigmoid(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.5]
    """
    return apply("sigmoid", x)


def softmax(x: Tensor) -> Tensor:
    """Exponentials over the last axis that sum to 1.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> softmax(sl.tensor.backend("numpy").tensor([1.0, 1.0])).numpy().tolist()
        [0.5, 0.5]
    """
    return apply("softmax", x)


def log_softmax(x: Tensor) -> Tensor:
    """The logarithm of `softmax`, without its rounding.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> log_softmax(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    return apply("log_softmax", x)
