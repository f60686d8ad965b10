"""Encoders, which convert sequences to numbers."""

from seqloom.encode._one_hot import OneHot
from seqloom.encode._quality import Quality
from seqloom.encode._tokens import Tokens
from seqloom.encode._words import Integer, Kmer

__all__ = ["Integer", "Kmer", "OneHot", "Quality", "Tokens"]
