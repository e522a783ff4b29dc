"""Pictures of all parts, in one."""

from __future__ import annotations

from pathlib import Path

from PIL import Image
from reproduction.command import PICTURES

PANELS = "overview_roc.png", "overview_residual_plots.png", "overview_binned.png"
"""Each part draws one, of one size; those of parts that were not run are cut out of the picture that is kept."""
KEPT = PICTURES / f"{Path(__file__).parent.name}.png"


def draw(out: Path, kept: Path = KEPT) -> None:
    """Side by side; if a part was never run, there is no picture."""
    panels = [_panel(out, kept, place) for place in range(len(PANELS))]
    found = [panel for panel in panels if panel is not None]
    if len(found) < len(PANELS):
        return
    whole = Image.new("RGB", (sum(panel.width for panel in found), max(panel.height for panel in found)), "white")
    left = 0
    for panel in found:
        whole.paste(panel, (left, 0))
        left += panel.width
    whole.save(out / "overview.png")


def _panel(out: Path, kept: Path, place: int) -> Image.Image | None:
    if (out / PANELS[place]).exists():
        return Image.open(out / PANELS[place]).convert("RGB")
    if not kept.exists():
        return None
    whole = Image.open(kept).convert("RGB")
    width = whole.width // len(PANELS)
    return whole.crop((place * width, 0, (place + 1) * width, whole.height))
