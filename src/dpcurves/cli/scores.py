"""Commands about the scores of a model: many readings, ROC and calibration curve, Hosmer-Lemeshow test, residuals."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from .ask_file import Terms
from .output import Output
from .score_views import GroupedScoresView, Showing
from .table_options import CellOptions, GroupedCells, GroupOptions, JudgedOptions, MostBins, ScoreOptions, Thresholded
from .views import BinnedResidualsView, HosmerLemeshowView, ResultView, RocView

if TYPE_CHECKING:
    from .option_groups import Command


def roc(scored: ScoreOptions, cells: CellOptions, thresholded: Thresholded, terms: Terms, output: Output) -> None:
    """The ROC curve of a score, and its area.

    Scores lie in [0, 1] unless a grid is given; those outside are counted separately. --at or --points name all
    thresholds; others then cost nothing under the same --request-id.

    Example: dpcurves roc scored.parquet --label late --score p_late --epsilon 1 --adjacency replace-one
    """
    from ..curves import RocQuestion
    from ..data.score_grids import UNIT_INTERVAL

    sure, grid = output.covering(), cells.declared_or(UNIT_INTERVAL)
    question = RocQuestion(
        scored.label, scored.scores, grid, scored.positive, scored.negative, scored.model, thresholded.found(),
        thresholded.some.of(grid),
    )  # fmt: skip
    terms.answer(question, RocView(sure), output)


def calibration(scored: ScoreOptions, groups: GroupOptions, cells: GroupedCells, terms: Terms, output: Output) -> None:
    """The calibration curve of a score.

    How often the label is positive among records of similar score. Scores lie in [0, 1] unless a grid is given.

    Example: dpcurves calibration scored.parquet --label late --score p_late --epsilon 1 --adjacency replace-one
    """
    from ..curves import CalibrationQuestion
    from ..data.score_grids import SCORES

    sure = output.covering()
    question = CalibrationQuestion(
        scored.label, scored.scores, groups.number, cells.declared_or(SCORES), scored.positive, scored.negative,
        scored.model,
    )  # fmt: skip
    terms.answer(question, ResultView(sure), output)


def hosmer_lemeshow(
    scored: ScoreOptions, groups: GroupOptions, cells: GroupedCells, terms: Terms, output: Output
) -> None:
    """The Hosmer-Lemeshow test of a score.

    Do predicted probabilities agree with the labels? The p-value includes noise and sampling.

    Example: dpcurves hosmer-lemeshow scored.parquet --label late --score p_late --epsilon 1 --adjacency replace-one
    """
    from ..curves import HosmerLemeshowQuestion
    from ..data.score_grids import SCORES

    sure = output.covering()
    question = HosmerLemeshowQuestion(
        scored.label, scored.scores, groups.number, cells.declared_or(SCORES), scored.positive, scored.negative,
        scored.model,
    )  # fmt: skip
    terms.answer(question, HosmerLemeshowView(sure), output)


def binned_residuals(judged: JudgedOptions, bins: MostBins, cells: GroupedCells, terms: Terms, output: Output) -> None:
    """Mean residuals of bins of similar scores.

    Where does the model predict too much, and where too little? The envelope includes noise and sampling.

    Example: dpcurves binned-residuals scored.parquet --label late --score p_late --model disjoint --epsilon 1
    --adjacency replace-one
    """
    from ..curves import BinnedResidualsQuestion
    from ..data.score_grids import SCORES

    level = output.simulated()
    question = BinnedResidualsQuestion(
        judged.label, judged.scores, judged.declared(), bins.number, grid=cells.declared_or(SCORES),
        pos_label=judged.positive, neg_label=judged.negative,
    )  # fmt: skip
    terms.answer(question, BinnedResidualsView(level), output)


def scores(scored: ScoreOptions, cells: CellOptions, showing: Showing, terms: Terms, output: Output) -> None:
    """Many curves of a score of two classes, for one privacy loss.

    ROC and precision-recall curve, gain, confusion matrix, decision curve, calibration and more are read from one
    release: --show says which, and others are free under the same --request-id.

    Example: dpcurves scores scored.parquet --label late --score p_late --show precision-recall --epsilon 1
    --adjacency replace-one
    """
    from ..curves import ScoresQuestion
    from ..data.score_grids import HUNDREDTHS

    by, grid = showing.split.declared(), cells.declared_or(HUNDREDTHS)
    view = showing.view(output.covering(), grid)
    question = ScoresQuestion(scored.label, scored.scores, grid, by, scored.positive, scored.negative, scored.model)
    terms.answer(question, GroupedScoresView(view) if by else view, output)


SCORE_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {
        "scores": scores, "roc": roc, "calibration": calibration, "hosmer-lemeshow": hosmer_lemeshow,
        "binned-residuals": binned_residuals,
    }
)  # fmt: skip
