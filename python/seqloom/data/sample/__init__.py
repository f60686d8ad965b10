"""Orders of one's own: by length, by budget, by weight."""
