"""What a backend gets without writing it: the extension set in terms of the standard's functions."""
