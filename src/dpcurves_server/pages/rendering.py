"""Templates, and how facts are worded in them. All text is escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dpcurves.data import Categories

from ..declared_columns import Declared

OF_REQUESTS = re.compile(r" under the same --request-id| at --level")
OPTION = re.compile(r"--([a-z][a-z-]*)")
STATIC: Mapping[str, str] = {
    "style.css": "text/css", "htmx.min.js": "text/javascript", "icon.svg": "image/svg+xml",
    "htmx.LICENSE.txt": "text/plain",
}  # fmt: skip


@cache
def templates() -> Environment:
    """The environment of all pages."""
    made = Environment(
        loader=PackageLoader("dpcurves_server"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters.update(on_page=on_page, values_of=values_of, day=day, sentence=sentence)
    made.globals["stamp"] = sha256(b"".join(map(static, STATIC))).hexdigest()[:12]
    return made


@cache
def static(name: str) -> bytes:
    """A file that pages ask for: one of `STATIC`."""
    return (files("dpcurves_server") / "static" / name).read_bytes()


def on_page(told: str) -> str:
    """The help of an option, where options are fields of a form.

    >>> on_page("With --at or --points: others are free under the same --request-id.")
    'With “At” or “Points”: others are free.'
    """
    return OPTION.sub(lambda found: f"“{found[1].replace('-', ' ').capitalize()}”", OF_REQUESTS.sub("", told))


def values_of(column: Declared) -> str:
    """The domain of a column, in words."""
    if isinstance(column, Categories):
        return ", ".join(map(str, column.values))
    return f"{column.lower:g} to {column.upper:g}"


def day(moment: float) -> str:
    """The day of a moment in seconds since 1970, in UTC."""
    return datetime.fromtimestamp(moment, UTC).date().isoformat()


def sentence(words: str) -> str:
    """Words that begin with a capital; an abbreviation stays one."""
    return words.upper() if words == "auc" else words[:1].upper() + words[1:]


def rendered(name: str, facts: Mapping[str, Any]) -> str:
    """A page."""
    return templates().get_template(name).render(facts)
