"""Files that a path names: itself, the matches of a pattern, or the Parquet files of a folder with partition keys."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from ..arguments import InvalidArgument

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""Folder name of missing values in Hive, Spark and DuckDB."""
LOGS = {"_delta_log": "Delta", "metadata": "Iceberg"}
"""Folders that mark tables whose Parquet files are not all valid, and the names of their formats."""


class FileGroup(NamedTuple):
    """Files of one table.

    Attributes:
        paths: The files, sorted.
        keys: Names of the partition keys, from the outermost folder in.
        values: Values of the keys of each file, SENSITIVE: they are values of records; None: missing.
    """

    paths: tuple[Path, ...]
    keys: tuple[str, ...] = ()
    values: tuple[tuple[str | None, ...], ...] = ()


def list_files(path: str | Path) -> FileGroup:
    """Return the files that a path names, without opening them.

    A path that exists names itself. Else ``*``, ``?`` and ``[...]`` match names, and ``**`` folders. A folder names the
    Parquet files in it; folders within it that are called ``key=value`` add columns, as Hive and Spark write them.

    Raises:
        ValueError: nothing matches, or the folder is no such table. The message shows no name within a folder.
    """
    whole = Path(path)
    if os.path.isdir(whole):
        return _list_folder(whole)
    if os.path.exists(whole) or not glob.has_magic(str(path)):
        return FileGroup((whole,))
    matches = sorted(Path(name) for name in glob.glob(str(path), recursive=True) if os.path.isfile(name))
    if not matches:
        raise InvalidArgument("data", f"no file matches {whole.name!r}; check the folder and the pattern")
    return FileGroup(tuple(matches))


def _list_folder(folder: Path) -> FileGroup:
    """Return the Parquet files of a folder with the values of their keys. Raises `InvalidArgument` for a folder without
    Parquet files, of another format, or with different keys.
    """
    for log, name in LOGS.items():
        if (folder / log).is_dir():
            raise InvalidArgument(
                "data", f"{folder.name!r} is a table of {name}; let DuckDB or Spark read it, and give that relation"
            )
    relative = sorted(path.relative_to(folder) for path in folder.rglob("*.parquet") if path.is_file())
    shown = [path for path in relative if not any(part.startswith(("_", ".")) for part in path.parts)]
    if not shown:
        name = folder.name or str(folder)
        raise InvalidArgument(
            "data", f"{name!r} is a folder without Parquet files; give the path of a CSV or Parquet file"
        )
    pairs = [[part.partition("=") for part in path.parts[:-1] if "=" in part] for path in shown]
    keys = {tuple(unquote(key) for key, _, _ in pairs_of_file) for pairs_of_file in pairs}
    if len(keys) > 1:
        raise InvalidArgument("data", f"files of {folder.name!r} lie under different keys; give folders of one kind")
    (names,) = keys
    if len(set(names)) < len(names):
        raise InvalidArgument("data", f"a key occurs twice in {folder.name!r}; rename its folders")
    values = tuple(tuple(_read_value(value) for _, _, value in pairs_of_file) for pairs_of_file in pairs)
    return FileGroup(tuple(folder / path for path in shown), names, values)


def _read_value(text: str) -> str | None:
    """Return the value of a folder name; None for a missing value."""
    return None if text == NULL_PARTITION else unquote(text)


def list_paths(names: Sequence[str | Path]) -> list[Path]:
    """Return all files that these paths name; a path that names nothing stays as it is."""
    paths: list[Path] = []
    for name in names:
        try:
            paths += list_files(name).paths
        except InvalidArgument:
            paths.append(Path(name))
    return paths
