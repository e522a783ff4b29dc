"""Find the files of a table from the path that a user typed: one file, a glob pattern, or a folder of Hive partitions.

`list_files` takes the path and returns a `FileGroup`, the sorted files of one table. It accepts

- the path of a file, as in ``visits.parquet``;
- a pattern, as in ``visits-*.csv``, which names all files that match;
- a folder, which names all Parquet files in it. Subfolders called ``KEY=VALUE`` (Hive partitions) add a column ``KEY``.

Only names of files are read, never their contents. Values in the names of folders are values of records, so messages
never show them. Folders of Delta Lake and Iceberg tables are refused, because some of their Parquet files no longer
belong to the table.

>>> [path.name for path in list_files("visits.parquet").paths]
['visits.parquet']
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
"""Folder value that Hive, Spark and DuckDB write for a missing value; the rows of such a folder count as missing."""
TABLE_FORMATS = {"_delta_log": "Delta", "metadata": "Iceberg"}
"""Formats whose folders keep Parquet files that no longer belong to the table, by the subfolder that marks them. Such a
folder is refused, because deleted rows would count."""


class FileGroup(NamedTuple):
    """The files of one table, with the values of their partition keys.

    Attributes:
        paths: Paths of the files, sorted.
        keys: Names of the partition keys, from the outermost folder to the innermost. Empty: the table has none.
        values: For each file, the value of each key; None for a missing value. SENSITIVE: these are values of records.
    """

    paths: tuple[Path, ...]
    keys: tuple[str, ...] = ()
    values: tuple[tuple[str | None, ...], ...] = ()


def list_files(path: str | Path) -> FileGroup:
    """Return the files of the table that `path` names, without opening any of them.

    A path that exists names itself, even if it looks like a pattern. In a pattern, ``*``, ``?`` and ``[...]`` match
    within a name, and ``**`` matches folders. If a pattern matches Parquet files only, their folders below the first
    part with such a sign may be partitions.

    Args:
        path: Path or pattern of files, or a folder.

    Returns:
        The files with their partition keys. A path without a pattern is returned even if the file does not exist, so
        that opening it gives the usual error.

    Raises:
        ValueError: no file matches the pattern; the folder holds no Parquet files or is a Delta Lake or Iceberg table;
            or files have different keys. The message shows no name within a folder.
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
    """Return the Parquet files below a folder with the values of their partition keys.

    Files and folders whose names start with ``_`` or ``.`` are skipped: Hive and Spark use them for logs and temporary
    files.

    Args:
        folder: Folder of the table.

    Raises:
        InvalidArgument: the folder has no Parquet files, is a table of another format, or has files with different
            keys.
    """
    for marker, name in TABLE_FORMATS.items():
        if (folder / marker).is_dir():
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
    """Parse partition keys from names of folders (Hive partitions), and return the files with their keys and values.

    A folder ``year=2024`` gives its files the value ``2024`` of the key ``year``; percent escapes are decoded. Folders
    without ``=`` are ignored. All files must have the same names of keys in the same order; values may differ.

    Args:
        paths: The files.
        folders: For each file, the names of the folders between the table and the file, outermost first.
        table_name: Last part of the path that the user gave, for messages.

    Raises:
        InvalidArgument: two files have different names of keys, or another order of them, or a key occurs twice on one
            path.
    """
    pairs = [[part.partition("=") for part in parts if "=" in part] for parts in folders]
    keys = {tuple(unquote(key) for key, _, _ in pairs_of_file) for pairs_of_file in pairs}
    if len(keys) > 1:
        raise InvalidArgument(
            "data",
            f"files of {table_name!r} have different partition keys (as in year=2024); give folders with the same keys",
        )
    (names,) = keys
    if len(set(names)) < len(names):
        raise InvalidArgument("data", f"a partition key occurs twice on a path of {table_name!r}; rename the folders")
    values = tuple(tuple(_read_value(value) for _, _, value in pairs_of_file) for pairs_of_file in pairs)
    return FileGroup(tuple(paths), names, values)


def _read_value(text: str) -> str | None:
    """Return the value in the name of a partition folder, such as the ``2024`` of ``year=2024``.

    Percent escapes such as ``%20`` are decoded. None means a missing value, as Hive writes it.

    Args:
        text: Text behind the equals sign, as in the name of the folder.
    """
    return None if text == NULL_PARTITION else unquote(text)


def list_paths(names: Sequence[str | Path]) -> list[Path]:
    """Return the files of several tables in one list, in the order of the names. No file is opened.

    Args:
        names: Paths, patterns or folders, each as `list_files` accepts it. One that names no valid table stays in the
            list as it is.
    """
    paths: list[Path] = []
    for name in names:
        try:
            paths += list_files(name).paths
        except InvalidArgument:
            paths.append(Path(name))
    return paths
