"""Loads batches of a dataset in threads or processes, and resumes from saved states."""
