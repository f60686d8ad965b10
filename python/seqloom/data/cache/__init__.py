"""Items kept in files between runs."""
