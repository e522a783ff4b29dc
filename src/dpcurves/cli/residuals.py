"""Residual plots: the command, its options, and its view."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from .ask_file import Terms
from .literals import amount, chosen
from .model_files import scores_of
from .output import Output
from .refusal import Misuse
from .table_options import CoveredOptions, PlaneCells
from .views import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..curves import ResidualPlot
    from ..data.predictor import Predictor
    from ..privacy import Model
    from .option_groups import Command

SLICES = 8


@dataclass(frozen=True)
class Plane:
    """Options for predictions and residuals, the size of their values, and the provenance of the model."""

    predicted: Annotated[
        str, Option(help="The column of predictions; or @FILE, a model in JSON that predicts.", metavar="NAME")
    ]
    residual: Annotated[
        str, Option(help="The column of residuals; of a model in a file, the column that it predicts.", metavar="NAME")
    ]
    unit_predicted: Annotated[
        str, Option(help="The smallest bound of predictions tried, about their size; it is doubled.", metavar="U")
    ]
    unit_residual: Annotated[
        str, Option(help="The smallest bound of residuals tried, about their size; it is doubled.", metavar="U")
    ]
    model: Annotated[
        str,
        Option(
            help="How the model was made: it is public, was trained on disjoint records, or is itself private.",
            metavar="public|disjoint|private",
        ),
    ]

    def __post_init__(self) -> None:
        if self.predicted == self.residual:
            raise Misuse("residual", "another column than that of --predicted is needed")

    @property
    def columns(self) -> tuple[str | Predictor, str | Predictor]:
        """Columns of predictions and residuals, or the model that gives them.

        Raises:
            Misuse: there is no such model.
        """
        from ..data.models import Residual

        predicted = scores_of("predicted", self.predicted)
        return predicted, self.residual if isinstance(predicted, str) else Residual(self.residual, predicted)

    @property
    def units(self) -> tuple[float, float]:
        """Smallest bounds tried of predictions and residuals, which are doubled."""
        predicted, residual = amount("unit-predicted", self.unit_predicted), amount("unit-residual", self.unit_residual)
        return float(Fraction(predicted)), float(Fraction(residual))

    def declared(self) -> Model:
        """Provenance of the model: public, trained on disjoint records, or private."""
        from ..privacy import Model

        return chosen("model", self.model, {each.name.lower(): each for each in Model})


@dataclass(frozen=True)
class ResidualPlotView:
    """View of a residual plot: a scatter plot of synthetic points, and a table of mean residuals of slices."""

    def tables(self, curve: ResidualPlot) -> list[Shown]:
        """Mean residuals from the lowest predictions to the highest."""
        middle, share, mean = curve.slices(SLICES)
        beyond = f"about {curve.outside:.1%} of the records lie beyond the bounds; the points are synthetic"
        words = f"{beyond}\nthe bounds cover {curve.covers}"
        return [Shown(words, {"predicted": middle, "share": share, "mean_residual": mean})]

    def draw(self, curve: ResidualPlot) -> Axes:
        """The scatter plot."""
        from ..display import headless_axes

        return curve.plot(ax=headless_axes())


def residuals(plane: Plane, covered: CoveredOptions, cells: PlaneCells, terms: Terms, output: Output) -> None:
    """Residuals against predictions.

    Bounds are found privately; within them a density is estimated, and synthetic points are drawn from it.

    Example: dpcurves residuals fitted.parquet --predicted fare --residual error --unit-predicted 1 --unit-residual 1
    --coverage 0.95 --model disjoint --epsilon 1 --adjacency replace-one
    """
    from ..curves import ResidualPlotQuestion

    question = ResidualPlotQuestion(*plane.columns, *plane.units, covered.share, plane.declared(), cells.number)
    terms.answer(question, ResidualPlotView(), output)


RESIDUAL_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"residuals": residuals})
