"""Runs the code blocks of pages from top to bottom in an empty folder, and holds what they print beside the page.

`python docs/blocks.py [PAGE ...] [--write]`. Each page has its folder; blocks of Python share one namespace, and blocks
of the console find the files that blocks before them wrote. What a block prints stands in the `text` block right below
it; a picture below that with a place in `images/pages` is the last one that the page drew. With `--write` both are made
anew. Noise comes from a fixed key here, so that a page is the same each time; all records of pages are made up.
"""

from __future__ import annotations

import argparse
import doctest
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from click.testing import CliRunner

import dpcurves as dp
from dpcurves import display
from dpcurves.cli.app import Commands, build

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.append(str(ROOT / "papers"))  # the page of errata compares with methods of papers
os.environ.setdefault("DPCURVES_HEADS", "off")  # ledgers of pages leave nothing in a home
BLOCK = re.compile(
    r"^```(?P<language>python|console|sh)[^\n]*\n(?P<code>.*?)^```\n"
    r"(?P<printed>\n```text(?P<once> title=\"One run\")?\n(?P<output>.*?)^```\n)?"
    r"(?P<drawn>\n(?:</div>\n\n)?!\[[^\]]*\]\((?P<picture>images/pages/\w+[.]png)\)\n)?",
    re.MULTILINE | re.DOTALL,
)
"""A block of code, what it prints, and the picture that it draws."""
GUIDE = frozenset({
    "budgets.md", "choose.md", "differential_privacy.md", "epsilon.md", "first_curve.md", "index.md", "install.md",
    "law.md", "numbers.md", "people_ask.md", "trust_models.md",
})  # fmt: skip
"""Pages of the guide, and the home page."""
ELSEWHERE = frozenset({
    "aggregator", "ask", "audit", "contribute", "engine", "federation", "pair", "remote", "serve", "server", "task",
    "try",
})  # fmt: skip
"""Commands that wait for other machines, or search for minutes: of these only the options are parsed."""
ELSEWHERE_LOCAL = frozenset({"serve", "send", "invite", "aggregate", "publish"})
"""Commands of `dpcurves local` that need another machine or its files."""
CHANGING = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\+00:00| UTC|Z)?|\b[0-9a-f]{8,64}\b")
"""Times, request ids and hashes, which differ each time; a page may show any."""
README = "README.md"
"""Its commands stand in `sh` blocks without prompts, because hosts of repositories copy prompts too."""
WIDTH = 100
"""Columns of the terminal."""


class BlockError(Exception):
    """A block does not run, or prints other text than it shows."""


@dataclass(frozen=True)
class Command:
    """A line that is typed after a prompt.

    Attributes:
        words: The words of the line.
        printed: What the console block itself shows below the line.
    """

    words: tuple[str, ...]
    printed: str

    @property
    def is_elsewhere(self) -> bool:
        """Return True if the line starts no command of this package, or one that needs another machine."""
        program, *more = self.words
        is_local = more[:1] == ["local"] and bool(ELSEWHERE_LOCAL & set(more[1:2]))
        uses_network = any("://" in word and not word.startswith("sqlite:") for word in more)
        return program != "dpcurves" or more[0] in ELSEWHERE or is_local or uses_network


def parse_console(code: str) -> list[Command]:
    """Return the commands of a console block. A line that ends in a backslash goes on in the next one.

    Raises:
        ValueError: the block does not begin with a prompt, so that its lines could not be told from output.
    """
    if not code.startswith("$ "):
        raise ValueError(f"a console block must begin with '$ ': {code.splitlines()[0]}")
    commands = []
    for entry in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        typed = re.match(r"(?:.*\\\n)*.*\n", entry)
        line = typed[0] if typed else entry
        commands.append(
            Command(tuple(shlex.split(line.replace("\\\n", " "), comments=True)), entry.removeprefix(line).strip())
        )
    return commands


@cache
def application() -> Commands:
    """Return the command line with all commands."""
    return build()


@contextmanager
def fixed_noise(name: str) -> Iterator[None]:
    """Draw noise from a fixed key and a public name, so that the output of a page is the same each time."""
    from_system, numbers = dp.Randomness.from_system, count()
    key = b"public key of the documentation!"
    variables = {"DPCURVES_LEDGER_KEY": 32 * "5e", "COLUMNS": str(WIDTH), "MPLBACKEND": "Agg"}
    before = {variable: os.environ.get(variable) for variable in variables}
    os.environ.update(variables)
    # from_key, not from_seed: the records are made up, so the output needs no warning that it is not private
    dp.Randomness.from_system = staticmethod(lambda: dp.Randomness.from_key(key, f"{name} {next(numbers)}"))  # type: ignore[method-assign]
    try:
        yield
    finally:
        dp.Randomness.from_system = from_system  # type: ignore[method-assign]
        for variable, value in before.items():
            if value is None:
                del os.environ[variable]
            else:
                os.environ[variable] = value


@dataclass
class Page:
    """A page with the namespace of its Python blocks.

    Attributes:
        path: The file.
        namespace: Names that its blocks defined.
        is_quick: Whether plans leave out their forecast, which takes seconds.
        lines: Number of console lines that ran.
        missing: Files that another machine would have written.
    """

    path: Path
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    is_quick: bool = False
    lines: int = 0
    missing: set[str] = field(default_factory=set)

    @property
    def shows_console(self) -> bool:
        """Return True for pages of the guide, on which commands are followed by what they print, too."""
        return self.path.name in GUIDE

    @property
    def text(self) -> str:
        """Return the text of the page."""
        return self.path.read_text(encoding="utf-8")

    def run_block(self, block: re.Match[str]) -> str:
        """Run a block in the current folder, and return what it prints.

        Raises:
            BlockError: a doctest of the block or a command of it fails, or prints other text than the block shows.
        """
        if block["language"] == "sh" and self.path.name != README:
            return ""  # a script of another program
        if block["language"] == "sh":
            prompted = re.sub(r"^(?=\S)", "$ ", block["code"], flags=re.MULTILINE)
            return "".join(self.run_command(command) for command in parse_console(prompted))
        if block["language"] == "console":
            return "".join(self.run_command(command) for command in parse_console(block["code"]))
        line = block.string.count("\n", 0, block.start("code"))
        printed = io.StringIO()
        with redirect_stdout(printed):
            self._run_python(block["code"], line)
        return printed.getvalue()

    def run_command(self, command: Command) -> str:
        """Run a command, or only parse its options if it needs another machine. Return what it prints."""
        words = list(command.words[1:])
        if command.is_elsewhere or self.missing & set(words):
            parse_options(command)
            self.missing |= {file for option, file in pairwise(words) if option in ("--out", "--json")}
            return ""
        self.lines += 1
        if self.is_quick and "--forecast" in words:
            index = words.index("--forecast")
            words[index : index + 2] = []
        result = CliRunner().invoke(application(), words)
        typed = shlex.join(command.words)
        is_refusal = command.printed.startswith("dpcurves: ")
        if not isinstance(result.exception, SystemExit | None) or (result.exit_code != 0) != is_refusal:
            raise BlockError(f"{typed}\n{result.output}\n{result.exception!r}")
        if command.printed not in result.output:
            raise BlockError(f"{typed}\nprints {result.output}\nnot {command.printed}")
        return "" if command.printed else result.output

    def _run_python(self, code: str, line: int) -> None:
        """Run Python code, of which a part may be a doctest session, at its line of the page."""
        plain, prompt, session = code.partition(">>>")
        # Empty lines in front make a traceback name the line of the page.
        exec(compile("\n" * line + plain, str(self.path), "exec"), self.namespace)
        if prompt:
            place = line + plain.count("\n")
            test = doctest.DocTestParser().get_doctest(
                prompt + session, self.namespace, str(self.path), str(self.path), place
            )
            failures: list[str] = []
            doctest.DocTestRunner().run(test, out=failures.append, clear_globs=False)
            if failures:
                raise BlockError("".join(failures))
            self.namespace |= test.globs


def parse_options(command: Command) -> None:
    """Parse the options of a `dpcurves` command without running it. Raises `click.UsageError` for an unknown one."""
    if command.words[0] != "dpcurves" or command.words[-1] == "...":
        return
    group: click.Command = application()
    context, words = click.Context(group, info_name="dpcurves", resilient_parsing=True), list(command.words[1:])
    while isinstance(group, click.Group):
        name, subcommand, words = group.resolve_command(context, words)
        if subcommand is None:
            raise BlockError(f"no such command: {name}")
        context, group = click.Context(subcommand, parent=context, info_name=name), subcommand
    group.make_parser(context).parse_args(list(words))


def is_same(shown: str, printed: str) -> bool:
    """Return True if two outputs agree, apart from times and ids. A line `...` stands for lines that are left out."""
    parts = [CHANGING.sub("#", part) for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)]
    whole = CHANGING.sub("#", "\n".join(map(str.rstrip, printed.splitlines())))
    pattern = ".*?".join(re.escape(part.strip("\n")) for part in parts)
    return re.fullmatch(rf"\s*{pattern}\s*", "\n" + whole, re.DOTALL) is not None


def draw(target: Path) -> None:
    """Save the current figure."""
    import matplotlib.pyplot as plt

    figure = plt.gcf()
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110)


def rewrite(page: Page, folder: Path | None = None) -> str:
    """Run a page, and return its text with today's outputs. The current folder must be empty.

    Outputs are written where the page shows some, and below Python blocks that print. A shown `...` is kept if the rest
    still agrees, and so is the output of a block that is titled "One run".

    Args:
        page: The page.
        folder: Folder of the pages, in which pictures are drawn; None draws none.
    """
    import matplotlib.pyplot as plt

    parts, end, text = [], 0, page.text
    # README and the home page show one curve: with noise of its own each would state another width
    name = "index.md" if page.path.name == "README.md" else page.path.name
    with fixed_noise(name), display.made_up_data():
        for block in BLOCK.finditer(text):
            output = page.run_block(block)
            parts.append(text[end : block.end("code")] + "```\n")
            is_shown = block["printed"] is not None
            if is_shown and (block["once"] or is_same(block["output"], output)):
                parts.append(block["printed"])
            elif output.strip() and (is_shown or block["language"] == "python" or page.shows_console):
                lines = "\n".join(map(str.rstrip, output.rstrip().splitlines()))
                parts.append(f"\n```text\n{lines}\n```\n")
            if block["drawn"]:
                if folder is not None:
                    draw(folder / block["picture"])
                parts.append(block["drawn"])
            plt.close("all")
            end = block.end()
    return "".join(parts) + text[end:]


def pages() -> list[Path]:
    """Return all pages of `docs`."""
    return sorted(DOCS.rglob("*.md"))


def main() -> int:
    """Run pages; the number of those that fail or show other output than their blocks print, at most 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path, help="pages; all, if there is none")
    parser.add_argument("--write", action="store_true", help="write today's outputs and pictures into the pages")
    given = parser.parse_args()
    lines = changed = 0
    for path in map(Path.resolve, given.pages or pages()):
        page = Page(path)
        with TemporaryDirectory() as folder, chdir(folder):
            text = rewrite(page, DOCS if given.write else None)
        lines += page.lines
        if text != page.text:
            changed += 1
            print(f"{path.relative_to(ROOT)}: shows other output than its blocks print")
            if given.write:
                path.write_text(text, encoding="utf-8")
    print(f"{lines} lines of the console ran")
    return int(changed > 0 and not given.write)


if __name__ == "__main__":
    sys.exit(main())
