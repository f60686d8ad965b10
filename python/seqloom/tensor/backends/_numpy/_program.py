"""Elementwise programs, for plans: only a backend knows the extension."""

from seqloom._rust import _native

ElementwiseProgram = _native.ElementwiseProgram
