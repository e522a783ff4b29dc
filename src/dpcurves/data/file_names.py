"""Files that a path names: itself, the matches of a pattern, or the Parquet files of a folder with partition keys.

    data.parquet                  the file
    data-*.csv                    the files that match, in order
    folder                        its Parquet files; folders named KEY=VALUE add a column KEY (Hive partitions)

Files are listed without being opened. All must have the same keys. Folders of Delta and Iceberg tables are refused.
"""

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
    So do the folders of Parquet files that a pattern matches, from the first name with a sign of patterns on.

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
    if any(match.suffix != ".parquet" for match in matches):
        return FileGroup(tuple(matches))
    constant = next(number for number, part in enumerate(whole.parts) if glob.has_magic(part))
    return _add_partition_keys(matches, [match.parts[constant:-1] for match in matches], whole.name)


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
    return _add_partition_keys([folder / path for path in shown], [path.parts[:-1] for path in shown], folder.name)


def _add_partition_keys(paths: Sequence[Path], folders: Sequence[tuple[str, ...]], table_name: str) -> FileGroup:
    """Return the files of a table with the keys and values of their folders. Raises `InvalidArgument` for different
    keys, or a repeated one.

    Args:
        paths: The files.
        folders: Names of the folders of each file, within the table.
        table_name: The last name of the path that was given, for messages.
    """
    pairs = [[part.partition("=") for part in parts if "=" in part] for parts in folders]
    keys = {tuple(unquote(key) for key, _, _ in pairs_of_file) for pairs_of_file in pairs}
    if len(keys) > 1:
        raise InvalidArgument("data", f"files of {table_name!r} lie under different keys; give folders of one kind")
    (names,) = keys
    if len(set(names)) < len(names):
        raise InvalidArgument("data", f"a key occurs twice in {table_name!r}; rename its folders")
    values = tuple(tuple(_read_value(value) for _, _, value in pairs_of_file) for pairs_of_file in pairs)
    return FileGroup(tuple(paths), names, values)


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
