"""Selections: the exponential mechanism, and noise by smooth sensitivity."""
