"""SENSITIVE. The DuckDB that counts: of its own, in memory, and silent."""

from __future__ import annotations

import shutil
import tempfile
import weakref

import duckdb

# Row counts must not depend on what statistics a file claims of itself. And tables of up to 2^16 slots are counted in
# an array, which takes two bits more.
SETTINGS: dict[str, bool | int | str] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "disabled_optimizers": "statistics_propagation",
    "perfect_ht_threshold": 18,
    "preserve_insertion_order": False,
    "python_enable_replacements": False,
}


class Engine:
    """A DuckDB connection and a private folder for what does not fit in memory; both are removed at the end."""

    __slots__ = ("__weakref__", "close", "connection")

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="dpcurves-")
        # Given here, and not set afterwards: where extensions may be loaded, opening takes three times as long.
        self.connection = duckdb.connect(":memory:", config={"temp_directory": folder, **SETTINGS})
        self._silence()
        self.close = weakref.finalize(self, _close, self.connection, folder)

    def _silence(self) -> None:
        """Show no progress. A notebook without widgets shows none, and there DuckDB refuses to be told so."""
        if self.connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
            self.connection.execute("SET enable_progress_bar = false")

    def __repr__(self) -> str:
        return "Engine(hidden)"


def _close(connection: duckdb.DuckDBPyConnection, folder: str) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)
