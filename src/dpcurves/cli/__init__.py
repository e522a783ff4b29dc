"""The command line: `dpcurves cdf DATA --column C --grid L:U:N --epsilon E --adjacency A`, and its sisters."""

from .app import build, main

__all__ = ["build", "main"]
