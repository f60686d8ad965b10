"""Sequences to numbers, by a declared policy."""

from seqloom.encode._integer import Integer
from seqloom.encode._kmer import Kmer
from seqloom.encode._one_hot import OneHot
from seqloom.encode._quality import Quality
from seqloom.encode._tokens import Tokens

__all__ = ["Integer", "Kmer", "OneHot", "Quality", "Tokens"]
