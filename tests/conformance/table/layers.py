"""PyTorch samples for normalisation, attention and losses."""

from functools import partial
from typing import Any

import torch
from torch.nn import functional as F

from conformance.call import Call, Late, Operation, Skip, first


def _flat(x: Any, shape: Any, *rest: Any) -> tuple[Any, ...]:
    """Merge the normalised axes, because seqloom normalises over one axis only."""
    width = int(torch.tensor(tuple(shape)).prod())
    rows = x.detach().reshape(*x.shape[: x.ndim - len(shape)], width)
    kept = (None if each is None else each.detach().reshape(-1) for each in rest)
    return (
        rows.requires_grad_(),
        *(each and _leaf(each) if each is None else _leaf(each) for each in kept),
    )


def _leaf(x: Any) -> Any:
    return x if x is None else x.requires_grad_()


def _layer_norm(
    x: Any, shape: Any, weight: Any = None, bias: Any = None, **named: Any
) -> Call | Skip:
    eps = named.get("eps", 1e-5)
    if eps < 0:
        return Skip("negative-eps")
    args = _flat(x, shape, weight, bias)
    theirs = lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b, eps)  # noqa: E731
    return Call(args, {"eps": eps}, theirs=theirs, ours_out=first)


def _rms_norm(x: Any, shape: Any, weight: Any = None, **named: Any) -> Call | Skip:
    eps = named.get("eps")
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    if eps < 0:
        return Skip("negative-eps")
    theirs = lambda x, w: F.rms_norm(x, x.shape[-1:], w, eps)  # noqa: E731
    return Call(_flat(x, shape, weight), {"eps": eps}, theirs=theirs, ours_out=first)


def _norm_grad(adapt: Any, statistics: Any) -> Any:
    """Test the gradient of a normalisation, which needs the forward statistics."""

    def pulled(*sample: Any, **named: Any) -> Call | Skip:
        call = adapt(*sample, **named)
        if isinstance(call, Skip):
            return call
        leaves = [each for each in call.args if each is not None]
        out = call.theirs(*call.args)
        grad = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)
        found = iter(torch.autograd.grad(out, leaves, grad))
        theirs = tuple(None if each is None else next(found) for each in call.args)
        x, weight = (each if each is None else each.detach() for each in call.args[:2])
        kept = statistics(x, call.options["eps"])
        present = [each is not None for each in theirs]
        return Call(
            (grad, x, weight, *kept),
            theirs=lambda *_: tuple(each for each in theirs if each is not None),
            ours_out=lambda out: tuple(
                o for o, keep in zip(out, present, strict=False) if keep
            ),
            followed=(),
        )

    return pulled


def _moments(x: Any, eps: float) -> tuple[Any, Any]:
    mean = x.mean(-1)
    return mean, (x.var(-1, correction=0) + eps).rsqrt()


def _root(x: Any, eps: float) -> tuple[Any]:
    return ((x.square().mean(-1) + eps).rsqrt(),)


def _batch_norm(
    x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, **named: Any
) -> Call | Skip:
    if not named.get("training"):
        return Skip("by-averages")
    if x.ndim < 3 or not x.numel() or weight is None or bias is None:
        return Skip("batch-norm-shape")
    eps = named.get("eps", 1e-5)
    rows = x.detach().reshape(*x.shape[:2], -1).requires_grad_()
    theirs = lambda x, w, b: F.batch_norm(x, None, None, w, b, True, eps=eps)  # noqa: E731
    return Call((rows, weight, bias), {"eps": eps}, theirs=theirs, ours_out=first)


def _batch_norm_grad(*sample: Any, **named: Any) -> Call | Skip:
    call = _batch_norm(*sample, **named)
    if isinstance(call, Skip):
        return call
    assert call.theirs is not None
    leaves = [_leaf(each.detach()) for each in call.args]
    out = call.theirs(*leaves)
    grad = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)
    found = torch.autograd.grad(out, leaves, grad)
    x, weight, _ = (each.detach() for each in leaves)
    mean, variance = x.mean((0, 2)), x.var((0, 2), correction=0)
    args = (grad, x, weight, None, mean, variance)
    return Call(args, call.options, theirs=lambda *_: found, followed=())


def _by_averages(
    x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, **named: Any
) -> Call | Skip:
    """Test batch normalisation in evaluation mode: a scale and shift per channel."""
    if x.ndim < 3 or mean is None or not x.numel():
        return Skip("batch-norm-shape")
    rows = x.detach().reshape(*x.shape[:2], -1).requires_grad_()
    ones = torch.ones_like(mean)
    scale = ((ones if weight is None else weight) * (var.abs() + 1e-5).rsqrt()).detach()
    shift = mean.detach().clone()
    theirs = lambda x, a, b: x * a[:, None] + b[:, None]  # noqa: E731
    return Call((rows, _leaf(scale), _leaf(shift)), theirs=theirs)


def _attention(q: Any, k: Any, v: Any, mask: Any = None, **named: Any) -> Call | Skip:
    mask = named.get("attn_mask", mask)
    if named.get("dropout_p"):
        return Skip("dropout")
    if mask is not None and mask.dtype != torch.bool:
        mask = mask.detach()
    if named.get("enable_gqa") and q.shape[-3] != k.shape[-3]:
        return Skip("grouped-heads")
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        return Skip("broadcast-heads")
    lift = (lambda x: x) if q.ndim == 4 else (lambda x: x[None])
    q, k, v = (_leaf(lift(each.detach())) for each in (q, k, v))
    options: dict[str, Any] = {
        "causal": named.get("is_causal", False),
        "scale": named.get("scale"),
    }
    theirs = partial(
        F.scaled_dot_product_attention, is_causal=options["causal"], scale=options["scale"]
    )
    return Call(
        (q, k, v, mask),
        options,
        theirs=lambda q, k, v, mask: theirs(q, k, v, attn_mask=mask),
        ours_out=first,
        followed=(0, 1, 2),
    )


def _attention_grad(*sample: Any, **named: Any) -> Call | Skip:
    call = _attention(*sample, **named)
    if isinstance(call, Skip):
        return call
    assert call.theirs is not None
    q, k, v, mask = call.args
    out = call.theirs(*call.args)
    grad = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)
    found = torch.autograd.grad(out, (q, k, v), grad)
    q, k, v = q.detach(), k.detach(), v.detach()
    lse = _logsumexp(q, k, mask, call.options)
    args = (grad, q, k, v, mask, None, out.detach(), lse)
    return Call(args, call.options, theirs=lambda *_: found, followed=())


def _logsumexp(q: Any, k: Any, mask: Any, options: Any) -> Any:
    scale = options["scale"] or q.shape[-1] ** -0.5
    scores = (q @ k.mT) * scale
    if options["causal"]:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~allowed, -torch.inf)
    if mask is not None:
        allowed = mask.dtype == torch.bool
        scores = scores.masked_fill(~mask, -torch.inf) if allowed else scores + mask
    return scores.logsumexp(-1)


def _varlen(*sample: Any, pull: bool = False, **named: Any) -> Call | Late | Skip:
    """Concatenate the sequences of a batch, cropped to equal lengths."""
    call = _attention(*sample, **named)
    if isinstance(call, Skip):
        return call
    assert call.theirs is not None
    forward = call.theirs
    rows, length = call.args[0].shape[0], min(each.shape[2] for each in call.args[:2])
    ends = torch.arange(rows + 1, dtype=torch.int32) * length
    apart = [each.detach()[:, :, :length] for each in call.args[:3]]
    packed = [_leaf(each.transpose(1, 2).flatten(0, 1)) for each in apart]

    def theirs(q: Any, k: Any, v: Any, _ends: Any) -> Any:
        apart = [each.unflatten(0, (rows, length)).transpose(1, 2) for each in (q, k, v)]
        return forward(*apart, None).transpose(1, 2).flatten(0, 1)

    options = {**call.options, "max_seqlen": length}
    if pull:
        return partial(_varlen_pulled, packed, ends, theirs, options)
    return Call((*packed, ends), options, theirs=theirs, ours_out=first, followed=(0, 1, 2))


def _varlen_pulled(packed: Any, ends: Any, theirs: Any, options: Any) -> Call:
    out = theirs(*packed, ends)
    grad = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)
    found = torch.autograd.grad(out, packed, grad)
    q, k, v = (each.detach() for each in packed)
    rows, length = len(ends) - 1, options["max_seqlen"]
    queries, keys = (each.unflatten(0, (rows, length)).transpose(1, 2) for each in (q, k))
    lse = _logsumexp(queries, keys, None, options).transpose(0, 1).flatten(1)
    args = (grad, q, k, v, ends, out.detach(), lse)
    return Call(args, options, theirs=lambda *_: found, followed=())


def _cross_entropy(logits: Any, labels: Any, **named: Any) -> Call | Skip:
    if labels.dtype.is_floating_point or named.get("label_smoothing"):
        return Skip("soft-labels")
    if named.get("ignore_index", -100) >= 0:
        return Skip("ignored-labels")
    weight = named.get("weight")
    if logits.ndim > 2:
        logits = logits.detach().flatten(2).movedim(1, -1).reshape(-1, logits.shape[1])
        labels = labels.flatten()
    weight = None if weight is None else weight.detach()
    theirs = lambda x, y, w: F.cross_entropy(x, y, w, reduction="none")  # noqa: E731
    args = (_leaf(logits.detach()), labels, weight)
    return Call(args, theirs=theirs, ours_out=first, followed=(0,))


def _cross_entropy_grad(*sample: Any, **named: Any) -> Call | Skip:
    call = _cross_entropy(*sample, **named)
    if isinstance(call, Skip):
        return call
    assert call.theirs is not None
    logits, labels, weight = call.args
    losses = call.theirs(*call.args)
    grad = torch.linspace(-1, 1, losses.numel(), dtype=losses.dtype)
    fused = torch.autograd.grad(losses.sum(), logits, retain_graph=True)[0]
    pulled = torch.autograd.grad(losses, logits, grad)[0]
    args = (grad, logits.detach(), labels, weight, fused)
    return Call(args, theirs=lambda *_: pulled, followed=())


LAYER_OPERATIONS: dict[str, Operation] = {
    "layer_norm": Operation("nn.functional.layer_norm", _layer_norm, close=3),
    "rms_norm": Operation("nn.functional.rms_norm", _rms_norm, close=3),
    "layer_norm_grad": Operation(
        "nn.functional.layer_norm", _norm_grad(_layer_norm, _moments), close=10
    ),
    "rms_norm_grad": Operation(
        "nn.functional.rms_norm", _norm_grad(_rms_norm, _root), close=10
    ),
    "batch_norm": Operation("nn.functional.batch_norm", _batch_norm, close=3),
    "batch_norm_grad": Operation("nn.functional.batch_norm", _batch_norm_grad, close=10),
    "scale_shift": Operation("nn.functional.batch_norm", _by_averages),
    "attention": Operation("nn.functional.scaled_dot_product_attention", _attention),
    "attention_grad": Operation(
        "nn.functional.scaled_dot_product_attention", _attention_grad, close=5
    ),
    "attention_varlen": Operation("nn.functional.scaled_dot_product_attention", _varlen),
    "attention_varlen_grad": Operation(
        "nn.functional.scaled_dot_product_attention", partial(_varlen, pull=True)
    ),
    "cross_entropy": Operation("nn.functional.cross_entropy", _cross_entropy),
    "cross_entropy_grad": Operation("nn.functional.cross_entropy", _cross_entropy_grad),
}
