"""The notebooks of the documentation, as Python files with cells (jupytext's "percent")."""
