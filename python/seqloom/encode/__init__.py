"""Sequences to numbers, by a declared policy."""

from seqloom.encode._one_hot import OneHot

__all__ = ["OneHot"]
