"""The command line: `dpcurves cdf DATA --column C --grid L:U:N --epsilon E --adjacency A`, and its sisters."""

from .start import main

__all__ = ["main"]
