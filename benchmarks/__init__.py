"""Benchmarks that compare seqloom with other libraries on the same input, in one run.

``make bench SUITE=train_cnn`` runs one suite, ``make bench`` all; each writes its section
of ``docs/benchmarks.md``.
"""
