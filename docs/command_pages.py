"""Pages of the command line, from the commands themselves: usage, arguments and options, as `--help` tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

from dpcurves.cli.app import EXIT_STATUS, build

CODE = re.compile(r"(`[^`]+`)")

SECOND_DOORS = "plan", "ask", "remote", "federation"
"""Groups that have the questions again, with the same options: a search finds the questions themselves alone."""


@dataclass(frozen=True)
class CommandPage:
    """One command, or a group of them."""

    name: str
    command: Any

    @property
    def place(self) -> str:
        return f"commands/{self.name}.md"

    @property
    def caption(self) -> str:
        return str(self.command.get_short_help_str(200))

    @property
    def text(self) -> str:
        hidden = "---\nsearch:\n  exclude: true\n---\n\n" if self.name in SECOND_DOORS else ""
        return hidden + "\n\n".join(_told(self.command, None, f"dpcurves {self.name}", 1)) + "\n"


def pages() -> list[CommandPage]:
    """The commands, in the order in which help lists them."""
    return [CommandPage(name, command) for name, command in _whole().commands.items() if not command.hidden]


def contents() -> str:
    """The page that lists them."""
    rows = "\n".join(f"| [`dpcurves {page.name}`]({page.name}.md) | {_cell(page.caption)} |" for page in pages())
    return (
        "# Commands\n\nUsage and options of every command, made from the commands themselves. How they work together "
        f"is told by [Command line](../cli.md).\n\n| command | what it does |\n|---|---|\n{rows}\n\n{EXIT_STATUS}\n"
    )


@cache
def _whole() -> Any:
    return build()


def _told(command: Any, above: Any, path: str, level: int) -> Iterator[str]:
    """A command in Markdown; then all that stand below it."""
    context = command.make_context(path, [], parent=above, resilient_parsing=True)
    context.info_name = path if above is None else path.rpartition(" ")[2]
    yield f"{'#' * min(level, 4)} `{path}`"
    yield from _prose(command.help or "")
    below = {name: each for name, each in getattr(command, "commands", {}).items() if not each.hidden}
    yield f"```text\n{' '.join(command.get_usage(context).split())}\n```"
    if not below:
        yield from _tables(command, context)
    for name, each in below.items():
        yield from _told(each, context, f"{path} {name}", level + 1)


def _prose(told: str) -> Iterator[str]:
    """The paragraphs of a help text; its example as a command."""
    for paragraph in re.split(r"\n\s*\n", told.strip()):
        words = " ".join(paragraph.split())
        begin, example, typed = words.partition("Example: ")
        if begin.strip():
            yield _cell(begin.strip())
        if example:
            yield f"```console\n$ {typed}\n```"


def _tables(command: Any, context: Any) -> Iterator[str]:
    rows = [(each.param_type_name, each.get_help_record(context)) for each in command.get_params(context)]
    for kind in ("argument", "option"):
        found = [record for own, record in rows if own == kind and record]
        if found:
            lines = (f"| {_code(names)} | {_cell(told)} |" for names, told in found)
            yield f"| {kind} | meaning |\n|---|---|\n" + "\n".join(lines)


def _code(names: str) -> str:
    """Code for a cell of a table, which a bar would end."""
    return f"<code>{escape(names.strip(), quote=False)}</code>".replace("|", "&#124;")


def _cell(told: str) -> str:
    """Words as they stand: what Markdown or HTML would read in them is kept from them."""
    return "".join(_code(part[1:-1]) if CODE.fullmatch(part) else _plain(part) for part in CODE.split(told))


def _plain(told: str) -> str:
    words = escape(re.sub(r"\s+", " ", told), quote=False)
    return re.sub(r"([\\`*_|\[\]])", r"\\\1", words)
