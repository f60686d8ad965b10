"""Reads labels and joins them to records."""
