"""Benchmarks that compare seqloom with other libraries on the same input, in one run.

``make bench SUITE=train_cnn`` runs one suite, and ``make bench`` runs all suites. Each
suite writes its section of ``docs/benchmarks.md``.
"""
