"""Packages that answer to the names of others: change an import, keep the calls."""
