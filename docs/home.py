"""Run the code of the home page, and write what it prints and draws there: `make pictures`.

Records are made up; noise is that of the operating system, so that the picture is of a release as people get it.
"""

from __future__ import annotations

import io
import re
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl

HERE = Path(__file__).parent
PAGE, PICTURE = HERE / "index.md", HERE / "images" / "home.png"
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
MARKED = re.compile(r"(<!-- home: made by docs/home.py -->\n).*?(\n<!-- end of home -->)", re.DOTALL)


def main() -> None:
    """Run it."""
    mpl.use("Agg")
    page = PAGE.read_text(encoding="utf-8")
    (code, *_), printed, names = CODE.findall(page), io.StringIO(), dict[str, Any]()
    with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(printed):
        exec(compile(code, str(PAGE), "exec"), names)
    names["ax"].figure.savefig(PICTURE, dpi=110)
    PAGE.write_text(MARKED.sub(lambda each: f"{each[1]}```text\n{printed.getvalue()}```{each[2]}", page), "utf-8")


if __name__ == "__main__":
    main()
