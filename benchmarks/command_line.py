"""Command lines of benchmarks: whole numbers by position, or ``--quick``, and the docstring of the file as help."""

from __future__ import annotations

import argparse


def parse_numbers(doc: str | None, **defaults: int) -> argparse.Namespace:
    """Return the whole numbers of the command line by name, in this order; a number that is left out has its default.

    Args:
        doc: The docstring of the benchmark, which ``--help`` prints.
        defaults: The number by the name of each argument.
    """
    parser = make_parser(doc)
    for name, default in defaults.items():
        parser.add_argument(
            name, nargs="?", type=int, default=default, metavar=name.upper(), help=f"default: {default}"
        )
    return parser.parse_args()


def is_quick(doc: str | None) -> bool:
    """Return True if the command line has ``--quick``; `doc` is the docstring of the benchmark."""
    parser = make_parser(doc)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    return bool(parser.parse_args().quick)


def make_parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is the docstring of the benchmark, with its line breaks."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
