"""Picture files: three formats, the same bytes each time, and no trace of who made them when."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes

from dpcurves.conversation import PrivacyStatement
from dpcurves.display import Shade, draw_cdf, headless_axes, save_figure, svg_text

PRIVACY = PrivacyStatement(
    1.0, 0.5, "replace-one", "<script>u</script>", 2, 9, "one curator", "flat", False, "a", "<b>model</b>"
)
LINE = np.linspace(0.0, 1.0, 50)


def picture(label: str = "delay (minutes)", name: str | None = None) -> Axes:
    return draw_cdf(
        LINE, LINE**2, PRIVACY, label=label, shades=[Shade(LINE**3, LINE, "band")], ax=headless_axes(), name=name
    )


@pytest.mark.parametrize(("ending", "head"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("SVG", b"<?")])
def test_the_ending_names_the_format(tmp_path: Path, ending: str, head: bytes) -> None:
    save_figure(picture(), tmp_path / f"curve.{ending}")
    assert (tmp_path / f"curve.{ending}").read_bytes().startswith(head)


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_same_picture_gives_the_same_bytes_and_tells_no_date(tmp_path: Path, ending: str) -> None:
    paths = [tmp_path / f"{number}.{ending}" for number in range(2)]
    for path in paths:
        save_figure(picture(), path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert not re.search(rb"Date|20\d\d-\d\d-\d\d|Author", first)


@pytest.mark.parametrize("name", ["curve.gif", "curve", ".svg", "curve.svg.exe"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"^plot: a file that ends in \.svg, \.png, \.pdf is needed, got '"):
        save_figure(picture(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_saving_does_not_change_the_settings_of_matplotlib(tmp_path: Path) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    save_figure(picture(), tmp_path / "curve.svg")
    svg_text(picture())
    assert dict(mpl.rcParams) == before


class Tags(HTMLParser):
    """All that a browser would see."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_inline_svg_refers_to_nothing_outside() -> None:
    svg = svg_text(picture())
    assert svg.startswith("<svg ")
    assert "http" not in svg
    assert not re.search(r"<!|<\?|<style|<metadata", svg)
    references = [value for _, facts in Tags(svg).seen for key, value in facts.items() if key.endswith("href")]
    assert references
    assert all(str(value).startswith("#") for value in references)


def test_inline_svg_is_the_same_each_time() -> None:
    assert svg_text(picture()) == svg_text(picture())


def test_every_reference_in_inline_svg_is_answered() -> None:
    svg = svg_text(picture())
    ids = set(re.findall(r'\sid="([^"]*)"', svg))
    references = set(re.findall(r'href="#([^"]*)"', svg)) | set(re.findall(r"url\(#([^)]*)\)", svg))
    assert references
    assert references <= ids


def test_different_pictures_have_different_ids() -> None:
    first, second = (set(re.findall(r'\sid="([^"]*)"', svg_text(picture(label)))) for label in ("a", "b"))
    assert not first & second


def test_names_are_escaped_in_svg_and_shown_as_they_are() -> None:
    nasty = '<script>alert(1)</script> "id="x" href="y'
    tags = Tags(svg_text(picture(nasty, name="</svg><img src=x onerror=alert(1)>")))
    assert {tag for tag, _ in tags.seen} <= {"svg", "g", "path", "defs", "use", "text", "clippath", "rect", "tspan"}
    assert nasty in "".join(tags.words)
    assert "<script>u</script>" in "".join(tags.words)
    assert not any(key.startswith("on") or key == "src" for _, facts in tags.seen for key in facts)


def test_inline_svg_is_described_for_those_who_cannot_see_it() -> None:
    (_, facts), *_ = Tags(svg_text(picture())).seen
    assert facts["role"] == "img"
    assert str(facts["aria-label"]).startswith("share of records below against delay (minutes). 0 at ")
