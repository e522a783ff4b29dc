"""The command line: `dpcurves cdf DATA --column C --grid L:U:N --epsilon E --adjacency A`, and the other commands."""

from .start import main

__all__ = ["main"]
