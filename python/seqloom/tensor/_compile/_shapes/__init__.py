"""What shape and element type each function gives, without computing it."""

from seqloom.tensor._compile._shapes._kinds import RULES, kinds

__all__ = ["RULES", "kinds"]
