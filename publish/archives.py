"""Source archive and wheel of one commit, the same bytes from every build; and what a wheel may hold."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

UV = Path(sys.executable).with_name("uv")
PEOPLE, PACKAGES, OPTIONS = ("home", "Users"), ("whl", r"tar\.gz", "deb"), ("index", "extra-index")
"""Folders that hold those of people, how files of packages end, and options of installers that name a host."""
TOLD = re.compile(
    rf"/(?:{'|'.join(PEOPLE)})/\w[\w./-]*|https?://\S+\.(?:{'|'.join(PACKAGES)})\b|--(?:{'|'.join(OPTIONS)})-url".encode()
)
"""Folders of people, and where packages are downloaded from."""


def build(root: Path, commit: str, out: Path) -> list[Path]:
    """A source archive of a commit, and a wheel built from it."""
    moment = int(told(root, "log", "-1", "--format=%ct", commit))
    with tempfile.TemporaryDirectory() as name:
        clone, made = Path(name, "clone"), Path(name, "made")
        unpack(subprocess.run(["git", "archive", commit], cwd=root, check=True, capture_output=True).stdout, clone)
        _uv(clone, "--sdist", made, moment)
        (source,) = made.glob("*.tar.gz")
        source.write_bytes(settled(source.read_bytes(), moment))
        unpack(gzip.decompress(source.read_bytes()), clone := Path(name, "unpacked"))
        (unpacked,) = clone.iterdir()
        _uv(unpacked, "--wheel", made, moment)
        out.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copy(each, out / each.name)) for each in sorted(made.glob("dpcurves*"))]


def told(root: Path, *words: str) -> str:
    """What git says."""
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def unpack(archive: bytes, folder: Path) -> None:
    """The files of a tar archive, in a folder that is made."""
    with tarfile.open(fileobj=BytesIO(archive)) as opened:
        opened.extractall(folder, filter="data")


def settled(archive: bytes, moment: int) -> bytes:
    """A source archive in one order, of one moment and of nobody: setuptools writes today's time into it."""
    out = BytesIO()
    with (
        tarfile.open(fileobj=BytesIO(archive)) as given,
        tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made,
    ):
        for member in sorted(given.getmembers(), key=lambda each: each.name):
            plain = tarfile.TarInfo(member.name)
            plain.type, plain.size, plain.mtime = member.type, member.size, moment
            plain.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            made.addfile(plain, given.extractfile(member) if member.isfile() else None)
    return gzip.compress(out.getvalue(), mtime=moment)


def unlike(first: list[Path], second: list[Path]) -> list[str]:
    """The archives of two builds that are not the same bytes."""
    return [one.name for one, other in zip(first, second, strict=True) if one.read_bytes() != other.read_bytes()]


def held(wheel: Path) -> set[str]:
    """The files of a wheel, but for its metadata."""
    with zipfile.ZipFile(wheel) as opened:
        return {name for name in opened.namelist() if ".dist-info/" not in name}


def telling(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Files that name what is nobody's business: a folder of somebody, or a host of downloads; with what they name."""
    folders = [f"{each}/" for each in (Path(__file__).parents[1], Path.home()) if len(each.parts) > 1]
    named = re.compile(b"|".join([*(re.escape(each.encode()) for each in folders), TOLD.pattern]))
    return {name: found[0] for name, data in files.items() if (found := named.search(data))}


def opened(archive: Path) -> dict[str, bytes]:
    """The files of an archive of either kind."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(archive) as source:
        files = [(member.name, source.extractfile(member)) for member in source.getmembers()]
        return {name: file.read() for name, file in files if file is not None}


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _uv(clone: Path, kind: str, out: Path, moment: int) -> None:
    there = os.environ | {"SOURCE_DATE_EPOCH": str(moment)}
    words: list[str | Path] = [
        UV,
        "build",
        "--quiet",
        kind,
        "--out-dir",
        out,
        "--build-constraint",
        "constraints.txt",
        ".",
    ]
    subprocess.run(words, cwd=clone, check=True, env=there)
