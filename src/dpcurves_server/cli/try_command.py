"""Command `dpcurves try`: ask questions about a table on this machine in the browser, for one person and one budget.

`try_table` opens the table and its privacy budget ledger, starts the local web app (`local_app`), prints its address,
and opens the browser. It prints the address with a secret token, then how to stop; after Ctrl-C, where the spent budget
is recorded. Records are read only when a question is paid, and each answer is charged.

    dpcurves try people.csv
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpcurves.cli import options
from dpcurves.cli.output import check_language
from dpcurves.cli.terminal import Misuse, make_console, print_to_console

from .commands import build_forms, require_extra


@dataclass(frozen=True)
class LocalTableOptions:
    """Options for a table on this machine and its format."""

    data: list[str] = options.argument(
        "DATA",
        "CSV file with a header, Parquet file or folder, DuckDB database, or a pattern: 'visits-*.csv'.",
    )
    table: str | None = options.optional("NAME", "Table of a DuckDB database; left out: its only one.")
    delimiter: str | None = options.optional(
        "SIGN", "Field separator of a CSV file; left out: that of the header line."
    )
    encoding: str | None = options.optional(
        "NAME", "Encoding of a CSV file: utf-8, latin-1 or cp1252; left out: that of the header line."
    )


@dataclass(frozen=True)
class BrowserOptions:
    """Options for the address and the browser."""

    port: str = options.option("N", "Port on 127.0.0.1; 0 takes a free one.", "0")
    no_browser: bool = options.flag("--no-browser", "Print the address, and open no browser.")
    language: str | None = options.optional(
        "CODE", "Language of published pages and files: en, de, fr or es; left out: that of the browser."
    )


def try_table(table: LocalTableOptions, browser: BrowserOptions) -> None:
    """Ask a table on this machine in the browser: choose a picture, see its price, publish the answer.

    Nothing is read but the schema until a question is paid. The budget is counted in a ledger beside the table, and the
    next call continues with the remaining budget. It runs until Ctrl-C.

    Example: dpcurves try people.csv
    """
    require_extra()
    language = "" if browser.language is None else check_language(browser.language)
    console = make_console()
    opening_pages = list[Path]()
    if console.is_terminal:  # the libraries of a server take seconds to load
        print_to_console(console, f"Opening {Path(table.data[0]).name} ...")
    from dpcurves.cli.one_table import QUESTIONS

    from ..local_app import LocalAccess, serve_local_table, write_opening_page
    from ..local_table import open_local_table

    port = options.parse_integer("port", browser.port, 0)
    if len(table.data) > 1:
        raise Misuse("data", "several files are one table under one pattern; write it in quotes, as 'visits-*.csv'")
    local = open_local_table(table.data[0], table.table or "", table.delimiter or "", table.encoding or "")

    def announce(access: LocalAccess) -> None:
        """Print the address with its token, and open the browser, unless --no-browser was given.

        Args:
            access: Address of the local app, with its token.
        """
        print_to_console(console, f"{local.path.name} is open at {access.address}", "Ctrl-C ends this.")
        if not browser.no_browser:
            import webbrowser
            from threading import Thread

            opening_pages.append(write_opening_page(local, access))
            address = opening_pages[-1].as_uri()
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()  # a text browser never returns

    try:
        serve_local_table(local, build_forms(QUESTIONS), port, announce, language)
    except KeyboardInterrupt:
        print_to_console(console, f"ended; what was spent stands in {local.ledger_path.name}, for the next start")
    finally:
        for page in opening_pages:
            page.unlink(missing_ok=True)


TRY_COMMANDS = {"try": try_table}
"""The command `dpcurves try`, by its name."""
