"""Bounds of two columns together."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import answer, both

from dpcurves.curves import Bounds, BoundsQuestion, PlaneBounds, PlaneBoundsQuestion
from dpcurves.privacy import PrivacyLoss

VALUES = np.random.default_rng(3).normal(scale=10, size=2000)
TABLE = {"r": VALUES, "s": VALUES / 1000}
QUESTION = PlaneBoundsQuestion(BoundsQuestion("r", 1, 0.95), BoundsQuestion("s", 0.01, 0.5))


@pytest.mark.parametrize("adjacency", both(2000), ids=str)
def test_each_column_has_its_own_interval_for_half_of_the_loss(adjacency: object) -> None:
    found = answer(QUESTION, TABLE, PrivacyLoss.pure(40), adjacency, seed=1)  # type: ignore[arg-type]
    assert (found.x.bound, found.y.bound) == (32, 0.01)
    assert (found.x.privacy.epsilon, found.privacy.epsilon) == (20, 40)
    assert found.to_frame()["upper"].to_list() == [32, 0.01]
    again = PlaneBounds.from_json(found.to_json())
    assert (again.x.bound, again.y.bound, again.privacy) == (32, 0.01, found.privacy)


def test_intervals_and_rectangles_are_drawn_and_shown_in_notebooks() -> None:
    found = answer(QUESTION, TABLE, PrivacyLoss.pure(40), both(2000)[0], seed=1)
    ax = found.plot(name="A")
    assert ax.get_xlim()[1] > 32 > ax.get_ylim()[1] > 0.01
    assert "± 32 by ± 0.01" in str(ax.get_legend().get_texts()[0])  # type: ignore[union-attr]
    line = found.x.plot()
    found.y.plot(ax=line, name="B")
    assert line.get_ylim() == (-1, 3)
    assert "from -32 to 32" in found.x._repr_html_()
    assert ">-0.01<" in found._repr_html_()


def test_one_column_is_no_plane_and_other_documents_are_refused() -> None:
    with pytest.raises(ValueError, match="^y: "):
        PlaneBoundsQuestion(BoundsQuestion("r", 1, 0.95), BoundsQuestion("r", 2, 0.5))
    found = answer(QUESTION, TABLE, PrivacyLoss.pure(40), both(2000)[0], seed=1)
    with pytest.raises(ValueError, match="bounds of two columns"):
        PlaneBounds.from_json(found.to_json().replace('"columns": ["r", "s"]', '"columns": ["r"]'))
    assert isinstance(found.x, Bounds)
