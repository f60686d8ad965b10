"""The compiled half of seqloom."""
