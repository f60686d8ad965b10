"""The notebooks of the documentation, as Python files in jupytext's percent format."""
