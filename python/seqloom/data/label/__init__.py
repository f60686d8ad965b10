"""Labels: where they come from, and which record has which."""
