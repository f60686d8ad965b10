"""Samplers that use the lengths of items, a budget of tokens, or weights."""
