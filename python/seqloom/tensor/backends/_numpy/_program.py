"""Elementwise programs, instructions and version: only a backend knows the extension."""

from seqloom._rust import _native

ElementwiseProgram = _native.ElementwiseProgram
simd, version = _native.simd, _native.version
