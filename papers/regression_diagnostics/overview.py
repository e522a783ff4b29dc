"""Pictures of all parts, in one."""

from __future__ import annotations

from pathlib import Path

PANELS = "overview_roc.png", "overview_residual_plots.png", "overview_binned.png"
"""Each part draws one, of one size; of parts that were not run, those of the last run are taken."""


def draw(out: Path) -> None:
    """Side by side, as many as there are."""
    from PIL import Image

    panels = [Image.open(out / name).convert("RGB") for name in PANELS if (out / name).exists()]
    whole = Image.new("RGB", (sum(panel.width for panel in panels), max(panel.height for panel in panels)), "white")
    left = 0
    for panel in panels:
        whole.paste(panel, (left, 0))
        left += panel.width
    whole.save(out / "overview.png")
