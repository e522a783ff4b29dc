"""Base of results: one line, notes, an HTML summary, a picture, a data frame and JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from inspect import isabstract
from re import fullmatch
from typing import TYPE_CHECKING, Any, ClassVar, Self

from .. import display
from ..arguments import Refused
from .covering import pictured, scopes, shades
from .damage import damage_refused

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..arrays import FloatArray
    from ..display import Opened, Shade
    from ..release import Evidence, PrivacyStatement

GROUP = "dpcurves.results"
"""Entry points of other packages: the kind of a result, and its class."""


class Result:
    """A curve, or a number, that was computed from releases: it prints as one line, and has notes."""

    if TYPE_CHECKING:

        @property
        def privacy(self) -> PrivacyStatement: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that should be read along with the numbers, each in one line, from released numbers alone."""
        return self.privacy.notes

    def __repr__(self) -> str:
        facts = (*self._in_short(), self.privacy.loss, self.privacy.adjacency)
        return f"{type(self).__name__}({', '.join(facts)})"

    def _in_short(self) -> tuple[str, ...]:
        """The middle of the one-line repr before loss and adjacency: the column, and numbers of cells, points or
        records.
        """
        return ()


class Released(Result, ABC):
    """A result that defines the methods below, from which its public methods are derived.

    Attributes:
        KIND: The name of its form in the published schema: a file in ``display/kinds``.
        SIZE: How large the picture of its HTML summary is, in inches.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=64), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> dp.CDF.from_json(curve.to_json()).to_frame().equals(curve.to_frame())
    True
    """

    KIND: ClassVar[str]
    SIZE: ClassVar[tuple[float, float]] = display.LANDSCAPE

    if TYPE_CHECKING:

        @property
        def evidence(self) -> Any: ...

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Axes:
        """Draw the result. Spends nothing, however often it is called.

        Args:
            ax: The axes to draw on; None: on a new figure.
            name: What the legend calls it.
        """
        return self._drawn(self.privacy, (), ax, name)

    def to_frame(self) -> Any:
        """The numbers as a data frame: pandas, or what is installed in its place."""
        return display.to_frame(dict(self._columns()))

    def to_json(self) -> str:
        """The result as JSON in the published format, with its releases: intervals can be computed again from it."""
        return display.envelope(self.KIND, self._arrays(), self.privacy, self.evidence_json())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The result that `to_json` wrote.

        Raises:
            ValueError: the text is of another kind, or is damaged.
        """
        with damage_refused():
            return cls._opened(display.opened(text, cls.KIND))

    @classmethod
    def wrote(cls, stored: Mapping[str, Any]) -> bool:
        """Tell whether this class wrote a document of this kind, as plain objects: some results are made of others."""
        return True

    def evidence_json(self) -> dict[str, Any]:
        """The question and what was released for it, as plain objects."""
        return {"question": dict(self._question()), "releases": [turn.to_json() for turn in self.turns]}

    @property
    def turns(self) -> Sequence[Evidence]:
        """The releases, turn by turn."""
        return (self.evidence,)

    def summary_facts(self) -> dict[str, Any]:
        """The facts of its HTML summary, as plain objects: title, one line, summary, notes, and the protected unit."""
        return {"line": repr(self), **display.summary_facts(self._title(), self._summary(), self.privacy)}

    def _repr_html_(self) -> str:
        return self.html_with(display.svg_text(self.plot(ax=display.headless_axes(self.SIZE))))

    def html_with(self, picture: str) -> str:
        """The HTML summary around a picture that was drawn before."""
        return display.html_summary(self._title(), picture, self._summary(), self.privacy)

    @abstractmethod
    def _title(self) -> str:
        """The title of the HTML summary."""

    @abstractmethod
    def _summary(self) -> Sequence[tuple[str, str]]:
        """The rows of the HTML summary."""

    @abstractmethod
    def _columns(self) -> Mapping[str, Any]:
        """The columns of the data frame."""

    def _arrays(self) -> Mapping[str, object]:
        """The numbers of its form in JSON: the columns, unless said otherwise."""
        return self._columns()

    @abstractmethod
    def _question(self) -> Mapping[str, object]:
        """The public facts that it is read with."""

    @classmethod
    @abstractmethod
    def _opened(cls, opened: Opened) -> Self:
        """Read it again from what was released."""

    @abstractmethod
    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        """Draw its picture, with this statement below it."""


class Covered(Released):
    """A result with a band or with intervals, for these records and for the population that they were drawn from."""

    @property
    def scopes(self) -> Mapping[str, bool]:
        """The scopes of the intervals: these records and, only where each unit is one record, the population."""
        return scopes(self.privacy)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float | None = 0.95,
        population: bool = True,
        name: str | None = None,
    ) -> Axes:
        """Draw the result with its band or intervals. Spends nothing, however often it is called.

        Where a unit has several records nothing is said of the population, and a line below the picture says so.

        Args:
            ax: The axes to draw on; None: on a new figure.
            level: The confidence level of the band or intervals; None: none are drawn.
            population: Whether those for the population are drawn beside those for these records.
            name: What the legend calls it.

        Raises:
            ValueError: `level` is not between 0 and 1.
        """
        whom = {who: asked for who, asked in self.scopes.items() if population or not asked}
        privacy, level = pictured(self.privacy, level, self._points(), population=population)
        return self._drawn(privacy, self._shaded(whom, level), ax, name)

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """The numbers as a data frame; with a `level`, also ``lower`` and ``upper`` ends.

        The ends are for these records, or, with `population`, for the population.
        """
        ends = () if level is None else self._ends(level, population=population)
        return display.to_frame({**self._columns(), **dict(zip(self._named_ends(), ends, strict=False))})

    def _shaded(self, whom: Mapping[str, bool], level: float | None) -> Sequence[Any]:
        """The shaded bands or intervals of a picture, the wider ones first; without a level, none."""
        return shades(whom, level, self._covers(), self._ends)

    def _covers(self) -> str:
        """The name of the band or the intervals in legends."""
        return "intervals, all at once,"

    def _named_ends(self) -> tuple[str, ...]:
        """The columns of the ends."""
        return "lower", "upper"

    def _points(self) -> int:
        """The approximate number of shaded points or edges: the length of the longest column."""
        return max(len(column) for column in self._columns().values())

    def _ends(self, level: float, /, *, population: bool) -> Any:
        """Lower and upper ends at this level: of the intervals, unless said otherwise."""
        return self.intervals(level, population=population).T

    if TYPE_CHECKING:

        def intervals(self, level: float, *, population: bool = False) -> FloatArray: ...


class Joined(Covered):
    """A result that is made of other results, each with its own releases: its JSON contains theirs unchanged."""

    KIND: ClassVar[str] = "curves"

    @abstractmethod
    def _members(self) -> Mapping[str, Any]:
        """The results, by what they are called."""

    @property
    def turns(self) -> Sequence[Evidence]:
        """None of its own."""
        return ()

    def to_json(self) -> str:
        """The curves by their names (``kind`` is ``curves``)."""
        members = {name: each.to_json() for name, each in self._members().items()}
        return display.bundle(members, self.privacy, self.evidence_json())

    @classmethod
    def read_members(cls, opened: Opened, kind: type[Any] | None = None) -> dict[str, Any]:
        """The results in it: of this kind, or of the one that the first says that it is."""
        stored: Mapping[str, Any] = opened.arrays["curves"]
        read = kind or kind_of(next(iter(stored.values())))
        return {name: read.from_json(json.dumps(each)) for name, each in stored.items()}


def kind_of(stored: Mapping[str, Any]) -> type[Any]:
    """The result that wrote a document: the most special one, where several would read it.

    Raises:
        ValueError: there is none.
    """
    name = stored["kind"]
    _load(str(name))
    kinds = [each for each in _kinds(Released) if getattr(each, "KIND", None) == name and not isabstract(each)]
    found = [each for each in kinds if each.wrote(stored)]
    if not found:
        raise Refused("curve.kind", f"no result is of the kind {str(name)[:40]!r}")
    return sorted(found, key=lambda each: len(each.__mro__))[-1]


def _load(kind: str) -> None:
    """Import the file of a kind, which has its name; results that are written together may be of any kind: all."""
    room, file = import_module(str(__package__)), f".{kind.replace('-', '_')}"
    if kind == Joined.KIND:
        for name in room.__all__:
            getattr(room, name)
    elif fullmatch("[a-z0-9-]+", kind) and find_spec(file, __package__) is not None:
        import_module(file, __package__)
    else:
        for each in entry_points(group=GROUP, name=kind):
            each.load()


def _kinds(base: type[Any]) -> Iterator[type[Any]]:
    for each in base.__subclasses__():
        yield each
        yield from _kinds(each)
