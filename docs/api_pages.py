"""The API reference as pages: each third heading of `api.md` becomes one, and `api.md` itself lists them all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

NOT_SEARCHED = "Modules below"
"""A group whose names may change any day: whoever searches is led to what stands above it."""
FENCE = re.compile(r"^::: (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class ApiPage:
    """One page: a heading, a caption, and the objects that are shown."""

    title: str
    body: str
    group: str

    @property
    def place(self) -> str:
        return f"api/{re.sub('[^a-z0-9]+', '-', self.title.lower()).strip('-')}.md"

    @property
    def text(self) -> str:
        hidden = "---\nsearch:\n  exclude: true\n---\n\n" if self.group == NOT_SEARCHED else ""
        return f"{hidden}# {self.title}\n\n{self.body}\n"

    @property
    def objects(self) -> list[str]:
        return FENCE.findall(self.body)

    @property
    def caption(self) -> str:
        return " ".join(FENCE.sub("", self.body).split())


def groups(source: str) -> Mapping[str, list[ApiPage]]:
    """The pages, by the groups that they stand in."""
    _, *found = re.split(r"^## ", source, flags=re.MULTILINE)
    return {group.partition("\n")[0]: list(_pages(group)) for group in found}


def contents(source: str) -> str:
    """The first page: what it says, and where all others are."""
    parts = [source.partition("\n## ")[0]]
    for group, pages in groups(source).items():
        parts.append(f"## {group}\n\n" + "\n".join(_line(page) for page in pages))
    return "\n\n".join(parts) + "\n"


def _pages(group: str) -> Iterator[ApiPage]:
    for section in re.split(r"^### ", group, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        yield ApiPage(title, body.strip(), group.partition("\n")[0])


def _line(page: ApiPage) -> str:
    return f"- [{page.title}]({page.place})" + (f": {page.caption}" if page.caption else "")
