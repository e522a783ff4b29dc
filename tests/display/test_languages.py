"""Pages, pictures and texts in the reader's language: complete catalogues, numbers and dates by locale, words kept."""

from __future__ import annotations

import ast
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from html import unescape
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from babel.messages.pofile import read_po
from click.testing import CliRunner

import dpcurves as dp
from dpcurves import display, translation
from dpcurves.cli.app import build
from dpcurves.curves.result import result_from_json
from dpcurves.display.canvas import find_title
from dpcurves.ledger import Account, Allowance, Event, Ledger, Member
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss, Unit
from dpcurves.publication import describe_results_privacy, methods_paragraph
from dpcurves.review import REVIEW_FILE
from dpcurves.translation import CATALOGUES, ENGLISH, FIELD_PATTERN, LANGUAGES, Reader, translate, use_language
from dpcurves_audit.report import NO_ANSWER, Finding, PairResult, Report, ScoreHistogram
from dpcurves_parties.pairs import mechanisms as pair_mechanisms
from dpcurves_parties.shares.function_shares import TRUST_NAME, Owners
from dpcurves_sites.trust import SecureSum

OTHERS = [language for language in LANGUAGES if language != ENGLISH]
KEPT = Path(__file__).parents[1] / "released" / "0.1.0" / "curves.jsonl"
ENGLISH_WORDS = re.compile(
    r"\b(the|of|below|above|with|and|which|records?|share|these|interval|missing|known|loss|curve|weighted|at risk)\b"
)


def read_catalogue(language: str) -> dict[str, str]:
    """The messages of a language, by their English text."""
    with (CATALOGUES / language / "LC_MESSAGES" / "dpcurves.po").open("rb") as file:
        return {str(entry.id): str(entry.string) for entry in read_po(file) if entry.id}


def test_catalogues_have_the_same_messages_with_the_same_fields() -> None:
    messages = {language: read_catalogue(language) for language in OTHERS}
    first, *others = messages.values()
    assert len(first) > 600
    assert all(set(first) == set(other) for other in others)
    for translations in messages.values():
        assert all(translations.values())
        for text, translated in translations.items():
            assert sorted({match[1] for match in FIELD_PATTERN.finditer(text)}) == sorted(
                {match[1] for match in FIELD_PATTERN.finditer(translated)}
            ), text
            assert "{" not in FIELD_PATTERN.sub("", text + translated), text


TERMS: dict[str, dict[str, str]] = {
    r"differential privacy": {
        "de": "differentieller? Privatsphäre", "fr": "confidentialité différentielle", "es": "privacidad diferencial",
    },
    r"\bledgers?\b": {"de": "Kontob[uü]ch", "fr": "registre", "es": "libros? de cuentas"},
    r"^(weighted )?survival over": {"de": "Überlebenskurve", "fr": "courbe de survie", "es": "curva de supervivencia"},
    r"\bband (for|at)\b": {"de": "band", "fr": "bande", "es": "banda"},
    r"\bscores\b": {"de": "Scores", "fr": "scores", "es": "puntuaci[oó]n"},
    r"\bbounds\b": {"de": "Grenze|begrenzt", "fr": "bornes?", "es": "límites?"},
    r"\bROC curve": {"de": "ROC-Kurve", "fr": "Courbes? ROC|courbes ROC", "es": "Curvas? ROC|curvas ROC"},
    r"\barea under\b": {"de": "Fläche unter", "fr": "aire sous", "es": "área bajo"},
}  # fmt: skip
"""Terms of the field with their translation, which is the same in all messages of a language."""


@pytest.mark.parametrize("language", OTHERS)
def test_a_term_of_the_field_has_one_translation(language: str) -> None:
    for text, translated in read_catalogue(language).items():
        for term, translations in TERMS.items():
            if re.search(term, text, re.IGNORECASE):
                assert re.search(translations[language], translated, re.IGNORECASE), (text, translated)


def test_signs_have_the_spaces_and_the_quotes_of_each_language() -> None:
    for text, translated in read_catalogue("fr").items():
        assert not re.search(r" [:;!?»](\s|$)|[\w})][;!?](\s|$)|« ", translated), text
    for language in OTHERS:
        for text, translated in read_catalogue(language).items():
            assert not re.search(r"'\{|\}'|\d%|\d %", translated), text


# Texts of the code: each has a message, whatever its fields hold.


ATTRIBUTES = {"TITLE", "SUMMARY", "COLUMN_WORDS", "KEY_WORDS", "INTERVAL_NAME"}
SHOWING = {"__str__", "_title", "_figure_title", "_summary", "_column_words", "_interval_name"}
NOTED = ("dpcurves/curves", "dpcurves/display", "dpcurves_survival", "dpcurves_judging")
PROBES = "7", "Zed", "records", "3 to 5"
"""Values of fields: a number, a word of the user, a phrase of ours, an interval."""


PARTS = {
    "Hosmer-Lemeshow {}, {} {}", "share with event {} {}", "weighted ", "{}: they count as the bound",
    "have a value outside of the cells of the plane", "no range was significant above the noise: {}",
    "no cells hold more records than noise alone may give: {} of them", "a larger epsilon tells more",
    "have a first time with the event in a cell before that of the last time without it, which fit no survival curve",
    "the interval of each group", "simultaneous interval", "simultaneous intervals",
    ", no horizon given", ", no range given", "distribution function",
    "distribution function{}",
}  # fmt: skip
"""Parts of texts, which have messages with the words around them."""


def find_text(node: ast.AST) -> str | None:
    """The text of a constant or an f-string, with empty braces for its fields; None for other nodes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{[^{}]*\}", "{}", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


LABELLING = {
    "set_xlabel",
    "set_ylabel",
    "with_notes",
    "set_title",
    "label_axes",
    "add_legend_note",
    "translate",
    "describe_question",
}


def list_shown_texts(tree: ast.Module) -> Iterator[str]:
    """Texts of titles, rows and columns of result classes, of labels of axes, and of notes."""
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, ast.ClassDef):
            for statement in node.body:
                targets = statement.targets if isinstance(statement, ast.Assign) else []
                if {target.id for target in targets if isinstance(target, ast.Name)} & ATTRIBUTES:
                    parts += [statement.value]  # type: ignore[attr-defined]
        elif isinstance(node, ast.FunctionDef) and node.name in SHOWING:
            parts = [child.value for child in ast.walk(node) if isinstance(child, ast.Return) and child.value]
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            if called in LABELLING:
                parts = [*node.args]
            elif called == "add_advice":
                parts = [*node.args[:1]]
        for part in parts:
            inner = {
                id(value) for child in ast.walk(part) if isinstance(child, ast.JoinedStr) for value in child.values
            }
            keys = {id(child.slice) for child in ast.walk(part) if isinstance(child, ast.Subscript)}
            texts = (find_text(child) for child in ast.walk(part) if id(child) not in inner | keys)
            yield from (text for text in texts if text and re.search("[a-z]{2}", text))


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_of_results_and_notes_has_a_message(language: str) -> None:
    files = [file for folder in NOTED for file in sorted((CATALOGUES.parents[1] / folder).rglob("*.py"))]
    texts = {text for file in files for text in list_shown_texts(ast.parse(file.read_text(encoding="utf-8")))}
    shown = {
        text
        for text in texts
        if text.count("{}") <= 5 and text not in PARTS and not re.fullmatch(r"[\w.]+=?|(\{\})+[^a-z]*", text)
    }
    assert len(shown) > 120
    reader = Reader(language, {"Zed"})
    untranslated = []
    for text in sorted(shown):
        values = product(PROBES, repeat=text.count("{}")) if text.count("{}") < 4 else [["7"] * text.count("{}")]
        candidates = (text.replace("%", "%%").replace("{}", "%s") % tuple(row) for row in values)
        if not any(reader._find_translation(candidate) is not None for candidate in candidates):
            untranslated.append(text)
    assert not untranslated


# Pages and pictures of all kinds of results.


class Collector(logging.Handler):
    """Texts that no message fits."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.texts[str(record.args[1])] = None  # type: ignore[index]


@pytest.fixture
def untranslated(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, None]]:
    collector = Collector()
    translation.logger.addHandler(collector)
    monkeypatch.setattr(translation.logger, "level", logging.DEBUG)
    translation.logger.manager._clear_cache()  # type: ignore[attr-defined]  # of enabled levels
    yield collector.texts
    translation.logger.removeHandler(collector)
    translation.logger.manager._clear_cache()  # type: ignore[attr-defined]


def figure_texts(axes: Any) -> list[str]:
    """All texts of a figure: titles, labels, legends, notes and ticks."""
    from matplotlib.text import Text

    axes.figure.draw_without_rendering()
    return [text.get_text() for text in axes.figure.findobj(Text) if text.get_text() and text.get_visible()]


def visible_text(page: str) -> str:
    """The text of a page without its markup."""
    return unescape(re.sub(r"<[^>]*>", "\n", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)))


MORE_PLOTS = "plot_curves", "plot_density", "plot_roc"
"""Methods that draw a second picture of a result."""


def test_all_kinds_are_shown_in_all_languages(untranslated: dict[str, None], monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[str, None] = {}
    translate_text = Reader.translate

    def translate_and_keep(reader: Reader, text: str) -> str:
        """Translate a text, and keep it for the other languages."""
        shown.setdefault(text)
        return translate_text(reader, text)

    monkeypatch.setattr(Reader, "translate", translate_and_keep)
    results = [result_from_json(line) for line in KEPT.read_text(encoding="utf-8").splitlines()]
    words = {word for result in results for word in result._user_words()}
    statements = {}
    for number, result in enumerate(results):
        with use_language("de"):
            figure = result.plot_headless().figure
            page = visible_text(result.render_html(""))
            statements[str(number)] = result.privacy
            page += describe_results_privacy({str(number): result}) + methods_paragraph({"": result.privacy}, 0.95)
            more_plots = {name: getattr(result, name)() for name in dir(result) if name in MORE_PLOTS}
        assert all(find_title(ax) for ax in more_plots.values()), more_plots
        axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
        ticks = [axis.get_major_formatter().format_ticks([0.25, 0.5]) for axis in axes]
        assert not any("0.25" in tick for tick in ticks), type(result).__name__
        assert not ENGLISH_WORDS.search(page.replace(result.privacy.grant or "\0", "")), type(result).__name__
    assert len(results) >= 40
    assert not untranslated
    assert len(shown) > 400
    for language in OTHERS:
        reader = Reader(language, set(words))
        missing = [text for text in shown if reader._find_translation(text) is None and text not in reader.written]
        german = Reader("de", set(words))
        assert not [text for text in missing if german._find_translation(text) is not None]


TABLE = {
    "records": np.arange(4000.0) * 1234.5 % 99_999, "mean": ["18 to 30", "1,234.5", "2022-01-08", "median"] * 1000,
}  # fmt: skip
GROUPS = dp.Categories("mean", ("18 to 30", "1,234.5", "2022-01-08", "median"))


@pytest.fixture(scope="module")
def curves() -> dict[str, Any]:
    grid, loss = dp.Grid(0, 99_999, cells=12), dp.PrivacyLoss.pure(4)
    with dp.Session(
        TABLE, budget=dp.PrivacyLoss.pure(12), adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(1)
    ) as session:
        return {
            "by group": session.ask(dp.CdfQuestion("records", grid, by=GROUPS), loss),
            "bars": session.ask(dp.BarChartQuestion(GROUPS), loss),
            "dates": session.ask(
                dp.CdfQuestion("records", dp.Grid(0, 99_999, cells=3), measured_in="date"), loss
            ),
        }  # fmt: skip


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(
    ("language", "number", "day"),
    [
        ("de", "16.666", "06.04.2061"),
        ("fr", "16\u202f666", "6 avr. 2061"),
        ("es", "16.666", "6 abr 2061"),
    ],
)
def test_numbers_and_dates_follow_the_locale_and_labels_stay(
    curves: Mapping[str, Any], language: str, number: str, day: str
) -> None:
    with use_language(language):
        page, bars = (visible_text(curves[kind].render_html("")) for kind in ("by group", "bars"))
        texts = figure_texts(curves["by group"].plot_headless()) + figure_texts(curves["bars"].plot_headless())
        dates = visible_text(curves["dates"].render_html("")) + "".join(figure_texts(curves["dates"].plot_headless()))
    assert number in page
    assert re.search(r"\d,\d+[\xa0\u202f]%", page)
    assert not re.search(r"\d\.\d\b(?!\d)", page.replace("1,234.5", "").replace("0.1.0", ""))
    for label in GROUPS.values:
        assert str(label) in texts
        assert f"\n{label}\n" in page
        assert f"\n{label}\n" in bars
    assert "records" in texts
    assert day in dates
    assert not re.search(r"\b\d{4}-\d\d-\d\d\b", dates)
    english = figure_texts(curves["bars"].plot_headless())
    assert "records by mean" in english


def test_the_category_of_all_other_values_is_in_the_language_and_a_category_called_other_stays() -> None:
    """The category is a word of the package; a declared category of the same letters is a word of the user."""
    generator = np.random.default_rng(1)
    table = {"age": generator.gamma(9, 5, 2000), "ward": generator.choice(["a", "b", "other"], 2000)}
    grid, loss = dp.Grid(0, 120, cells=8), dp.PrivacyLoss.pure(1, delta=1e-7)
    found, listed = dp.UnlistedCategories("ward"), dp.Categories("ward", ("a", "b"))
    own = dp.CdfQuestion("age", grid, by=dp.Categories("ward", ("a", "other")))
    questions: list[dp.Question[Any]] = [
        dp.BarChartQuestion(found), dp.CdfQuestion("age", grid, by=found), dp.HistogramQuestion("age", grid, by=found),
        dp.SummaryQuestion("age", 0, 120, by=found),
    ]  # fmt: skip
    budget = dp.PrivacyLoss.pure(20, delta=1e-5)
    with dp.Session(table, budget=budget, adjacency=dp.REPLACE_ONE, randomness=dp.Randomness.from_seed(1)) as session:
        selected = [session.ask(question, loss) for question in questions]
        chart, curves = (
            session.ask(question, dp.PrivacyLoss.pure(1)) for question in (dp.BarChartQuestion(listed), own)
        )
    with use_language("de"):
        shown = [(result.describe_picture().to_json(), visible_text(result.render_html(""))) for result in selected]
    with use_language("de"):  # words that a reader has seen in one language stay in it
        texts = chart.describe_picture().to_json(), visible_text(chart.render_html(""))
    with use_language("de"):
        kept = curves.describe_picture().to_json(), visible_text(curves.render_html(""))
    for picture, page in shown:  # the user's category is called other, so that of all other values has another name
        assert "Sonstige (Gruppen)" in picture
        assert "Sonstige (Gruppen)" in page
        assert "other groups" not in f"{picture}{page}"
    for text in texts:
        assert "Sonstige" in text
        assert not re.search(r"\bother\b", text), re.findall(r".{30}\bother\b.{30}", text)
    assert all("other" in text and "Sonstige" not in text for text in kept)
    assert chart.category[-1] == "other"  # in English for programs


def test_a_word_of_the_user_in_one_result_stays_the_word_of_the_package_in_the_next() -> None:
    paid: Any = {"grid": dp.Grid(0, 9, cells=9), "epsilon": 9, "adjacency": dp.REPLACE_ONE}
    values = np.resize(np.arange(9), 900)
    ours = "share of records below"
    odd, plain = (dp.cdf(values, label=label, **paid) for label in (ours, "pay"))
    with dp.use_language("de"):
        before = odd.plot()
        assert before.get_xlabel() == ours
        later = plain.plot()
        assert later.get_ylabel() == "Anteil der Datensätze darunter"
        before.figure.draw_without_rendering()  # type: ignore[union-attr]
        assert before.get_xlabel() == ours


def test_small_multiples_have_one_legend_and_a_title_in_each_language() -> None:
    """Panels of a translated figure have no legends again; labels of values stand once; a title keeps the column."""
    from dpcurves.cli.output import add_title
    from dpcurves.curves import ByCategory

    generator = np.random.default_rng(3)
    scores, arms = generator.random(900), np.where(np.arange(900) % 30 == 0, "pilot", "usual")
    table = {"risk": scores, "ill": (generator.random(900) < scores).astype(int), "arm": arms}
    loss, by = dp.PrivacyLoss.pure(1), dp.Categories("arm", ("usual", "pilot"))
    with dp.Session(table, budget=loss, adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(3)) as session:
        groups = session.ask(dp.ScoresQuestion("ill", "risk", dp.Grid(0, 1, cells=4), by=by), loss)
    curves = ByCategory(groups.columns, {name: scores.roc() for name, scores in groups.items()})
    for language, title, note in (("en", "ROC curve", "in brackets: "), ("de", "ROC-Kurve", "in Klammern: ")):
        with use_language(language):
            figure = add_title(curves.plot_headless(), curves).figure
            figure.canvas.draw()
        panels = [ax for ax in figure.axes if ax.get_title()]
        assert [ax.get_legend() for ax in panels] == [None, None]
        assert [len(ax.get_title().splitlines()) for ax in panels] == [3, 3], [ax.get_title() for ax in panels]
        (legend,) = figure.legends
        assert legend.get_title().get_text().startswith(title)
        assert note in " ".join(text.get_text() for text in legend.get_texts())


@pytest.mark.quick_share(4)
@pytest.mark.parametrize(
    "question",
    [
        dp.CdfQuestion("years", dp.Grid(0, 90, cells=9)),
        dp.HistogramQuestion("years", dp.Grid(0, 90, cells=9)),
        dp.BarChartQuestion(dp.Categories("ward", (1, 2))),
        dp.CalibrationQuestion("ill", "risk"),
        dp.SurvivalQuestion("years", "died", dp.Grid(0, 90, cells=9)),
    ],
    ids=lambda question: type(question).__name__,
)
def test_pictures_of_forecasts_are_in_the_language_with_all_distributions(
    untranslated: dict[str, None], question: Any
) -> None:
    """Titles, axes and legends of each distribution of a forecast have messages; the column stays."""
    forecast = dp.forecast(question, dp.PrivacyLoss.pure(1), dp.ADD_REMOVE, records=40, rehearsals=2)
    with use_language("fr"):
        display.translate_figure(forecast.plot(ax=display.headless_axes()))
        for expected in forecast.expected_errors:
            translate(expected.distribution)
    assert set(untranslated) <= {"years"}


def test_drawn_axes_keep_their_language_when_drawn_later_and_nothing_is_translated_twice(
    curves: Mapping[str, Any],
) -> None:
    import matplotlib

    matplotlib.use("Agg")
    with dp.use_language("de"):
        axes = curves["dates"].plot_headless()
    before = figure_texts(axes)
    with dp.use_language("de"):
        from dpcurves.display import svg_text

        svg_text(axes)
    assert figure_texts(axes) == before
    assert any(re.fullmatch(r"\d\d\.\d\d\.\d{4}", text) for text in before)
    assert "0,2" in before


def test_files_and_results_are_the_same_in_all_languages(curves: Mapping[str, Any]) -> None:
    curve = curves["by group"]
    english = curve.to_json(), curve.to_csv_text(), curve.notes, repr(curve)
    for language in OTHERS:
        with use_language(language):
            assert (curve.to_json(), curve.to_csv_text(), curve.notes, repr(curve)) == english


TRUST_MODELS = (
    "one curator",
    "each person at home",
    TRUST_NAME,
    *(f"{TRUST_NAME}, owners {owners.value}" for owners in Owners),
    *(str(SecureSum(10, colluding)) for colluding in (0, 3)),
    *(str(SecureSum(10, 3, max_dropouts=1, sites_per_unit=sites)) for sites in (1, 2)),
    pair_mechanisms.PAIRS_BY_SERVERS,
)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("trust", TRUST_MODELS)
def test_the_statement_of_each_trust_model_is_in_the_language(
    curves: Mapping[str, Any], language: str, trust: str
) -> None:
    curve = replace(curves["bars"], privacy=replace(curves["bars"].privacy, trust=trust))
    with use_language(language):
        statements = describe_results_privacy({"a": curve}), translate(display.footer(curve.privacy))
    for statement in statements:
        assert trust not in statement
        assert not re.search(r"\b(Trust|trust|curator|servers|collude|owners|unchecked|noise of|pairs)\b", statement)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_the_methods_paragraph_is_citable_in_each_language(
    curves: Mapping[str, Any], language: str, delta: str
) -> None:
    from dataclasses import replace

    privacy = curves["bars"].privacy
    kinds = [
        replace(privacy, delta=float(delta), seeded=seeded, unit=unit, rows_per_unit=3, epsilon=epsilon, rho=0.125)
        for seeded in (False, True) for unit in ("", "patient of the ward") for epsilon in (0.5, None)
    ]  # fmt: skip
    for statements in [*([kind] for kind in kinds), kinds[:2], kinds]:
        with use_language(language):
            paragraph = methods_paragraph({str(number): kind for number, kind in enumerate(statements)}, 0.95)
        assert len(paragraph.split()) <= 60
        assert ("SEEDED" in paragraph) == (language == ENGLISH and any(kind.seeded for kind in statements))
        if language != ENGLISH:
            assert not re.search(r"\b(released|neighbours|loss|losses|each|units|privacy|bands)\b", paragraph)


def test_a_language_without_catalogue_or_babel_is_refused_before_the_charge(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data, ledger = tmp_path / "ages.csv", tmp_path / "budget.db"
    data.write_text("age\n" + "\n".join(map(str, range(90))))
    made = ["ledger", "create", f"sqlite:///{ledger}", "--dataset", "ages", "--epsilon", "1"]
    assert CliRunner().invoke(build(made), [*made, "--adjacency", "add-remove"]).exit_code == 0
    asked = [
        "cdf", str(data), "--column", "age", "--grid", "0:90:9", "--epsilon", "1",
        "--ledger", f"sqlite:///{ledger}", "--html", str(tmp_path / "a.html"),
    ]  # fmt: skip
    for language, rule in (("it", "use one of en, de, fr, es, got 'it'"), ("de", "pip install 'dpcurves[languages]'")):
        translation.load_locale.cache_clear()
        translation.load_catalogue.cache_clear()
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, "babel", None)
            refusal = CliRunner().invoke(build(asked), [*asked, "--language", language])
            assert refusal.exit_code != 0
            with (
                pytest.raises(ImportError if language == "de" else ValueError, match="language"),
                use_language(language),
            ):
                pass
        assert refusal.stderr.startswith("dpcurves: language: ")
        assert rule in refusal.stderr
        assert len(refusal.stderr.splitlines()) == 1
    assert CliRunner().invoke(build(asked), [*asked, "--language", "es"]).exit_code == 0  # nothing was charged before
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert '<html lang="es">' in page
    assert "proporción de registros por debajo" in page
    assert not ENGLISH_WORDS.search(visible_text(page))


def test_a_folder_is_published_in_a_language(curves: Mapping[str, Any], tmp_path: Path) -> None:
    dp.publish({"bars": curves["bars"]}, tmp_path, language="fr", title="records", date="2026-11-29")
    page, privacy = ((tmp_path / name).read_text(encoding="utf-8") for name in ("index.html", "PRIVACY.txt"))
    assert "<h1>records</h1>" in page  # the title of whoever publishes
    assert "Publié le 29 nov. 2026" in page
    assert "confidentialité différentielle" in (tmp_path / "METHODS.txt").read_text(encoding="utf-8")
    assert "\n\nbars: Enregistrements selon mean\n" in privacy
    assert "\n\nbars: Records by mean\n" in describe_results_privacy({"bars": curves["bars"]})
    assert not ENGLISH_WORDS.search(visible_text(page).replace("records", ""))
    assert not ENGLISH_WORDS.search(privacy.replace("records", ""))
    assert "enregistrements selon mean" in (tmp_path / "bars.svg").read_text(encoding="utf-8")


STUDY = """
epsilon = 1
[[question]]
ask = "cdf"
column = "age"
grid = "0:90:9"
where = "age < 80"
by = {column = "sex", categories = ["F", "M"]}
"""


def test_studies_and_model_cards_are_in_the_language_with_their_questions_and_budget(
    curves: Mapping[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{age},{'FM'[age % 2]}\n" for age in range(90)))
    words = ["study", str(tmp_path / "study.toml"), str(tmp_path / "people.csv"), "--adjacency", "add-remove"]
    refused = CliRunner().invoke(build(words), [*words, "--out", str(tmp_path / "out"), "--language", "it"])
    assert refused.stderr.startswith("dpcurves: language: use one of en, de, fr, es")
    done = CliRunner().invoke(build(words), [*words, "--out", str(tmp_path / "out"), "--language", "fr"])
    assert done.exit_code == 0, done.output
    study = visible_text((tmp_path / "out" / "index.html").read_text(encoding="utf-8"))
    with (
        dp.Session(
            {"age": [3]}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(1)
        ) as session,
        use_language("fr"),
    ):
        session.ask(dp.CountQuestion(), dp.PrivacyLoss.pure(1))
        card = visible_text(dp.model_card({"bars": curves["bars"]}, session.statement))
        budget = visible_text(session._repr_html_())
    assert "fonction de répartition de age selon sex, où age < 80" in study
    assert "nombre d'enregistrements" in card
    assert "garantie" in budget
    for text in (study, card.replace("records", ""), budget):
        assert "epsilon 1" in text
        assert not ENGLISH_WORDS.search(text)
        assert not re.search("question:|Budget of|budget epsilon 1, spent|price|left|Study|card", text)


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("adjacency", list(Neighbours))
@pytest.mark.parametrize("language", OTHERS)
def test_a_review_is_in_the_language_of_its_readers(
    tmp_path: Path, untranslated: dict[str, None], language: str, adjacency: Neighbours
) -> None:
    """Stored are names, which stay: of the dataset, people, columns, and the words of audit events."""
    ledger = Ledger.open(f"sqlite:///{tmp_path}/b.db")
    for dataset, unit, cap in (
        ("flights", Unit("plane", 3), PrivacyLoss.pure(2)),
        ("visits", Unit.with_unknown_bound("person"), PrivacyLoss.zcdp(2)),
        ("births", EACH_RECORD, PrivacyLoss.pure(2)), ("none", EACH_RECORD, PrivacyLoss.pure(2)),
    ):  # fmt: skip
        ledger.create(Account(dataset, adjacency, unit, cap))
        ledger.allow(Allowance(dataset, "wards", cap))
        ledger.allow(Allowance(dataset, "wards", cap, "ann"))
        loss = PrivacyLoss.pure(Fraction("0.25")) if cap.epsilon else PrivacyLoss.zcdp(Fraction("0.25"))
        units = 1234 if adjacency is Neighbours.REPLACE_ONE else None
        if dataset != "none":
            ledger.charge_for(
                Member("wards", "ann"), dataset, loss, purpose="distribution function of x", binding="0" * 64,
                units=units,
            )  # fmt: skip
            ledger.charge(dataset, loss, purpose="histogram of x", request=dataset, binding="a" * 64, units=units)
    ledger.record_event(Event("stu", "approved", "plane", "flights"), lambda connection: None)
    curve = dp.cdf([3, 5, 8] * 100, grid=dp.Grid(0, 10, cells=8), epsilon=1, adjacency=dp.REPLACE_ONE)
    object.__setattr__(curve, "privacy", replace(curve.privacy, grant="flights", seeded=True))
    (tmp_path / "x.json").write_text(curve.to_json())
    words = ["review", f"sqlite:///{tmp_path}/b.db", str(tmp_path / "x.json"), "--out", str(tmp_path / "review")]
    done = CliRunner().invoke(build(words), [*words, "--language", language])
    assert done.exit_code == 0, done.output
    sheet = (tmp_path / "review" / REVIEW_FILE).read_text(encoding="utf-8")
    assert set(untranslated) == set()
    own = sheet.partition("NIST SP 800-226: J. Near")[0]
    assert not re.search(r"\b(the|and|which|what|record|records|of|with|is|are|not)\b", own)
    assert "0,25" in sheet
    assert "0.25" not in sheet
    refused = CliRunner().invoke(build(words), [*words, "--language", "tlh"])
    assert refused.stderr.startswith("dpcurves: language: use one of en, de, fr, es")


FINDINGS = (
    ("seeded by a clock", "noise depends on the time: 9 of 20 calls at once gave the same outcome, and 0 of 20 "
     "seconds apart."),
    ("shared noise", "neighbours' outcomes have noise in common: the same difference in 9 of 19 pairs of calls that "
     "followed each other, in 1 of others."),
    ("forked workers", "workers that are forked from one process draw the same noise."),
    ("new processes", "each new process draws the same noise: its seed is fixed."),
    ("floating point", "number 1 has bits down to 2^-52: it lies on no lattice, and may be porous."),
    ("timing", "calls take 1.5 and 12.5 ms (p = 1e-09), for 3 joins 5 records."),
    ("reopened ledger", "two requests have the same noise, before and after it."),
)  # fmt: skip


@pytest.mark.parametrize("language", OTHERS)
def test_an_audit_is_in_the_language_of_its_readers_and_its_json_is_english(
    untranslated: dict[str, None], language: str
) -> None:
    """Stored are the words of the search: names of the family, of pairs, of events and of outcomes."""
    reports = [
        Report(
            "mylib.release", "values", "add-remove", parameter, 1.5, delta, 0.95, lower_bound=bound,
            second_lower_bound=1.75, pair="3 joins 5", event="number 1 is at most 7", likelier_side=side,
            hits=(1900, 2), samples=(2000, 2000), calls=12_345, seconds=1.5,
            pair_results=(PairResult("3 joins 5", 4000, "number 1 is at most 7", 1.25),), kinds=("one number",),
            findings=tuple(Finding(*row, is_flagged=is_flagged) for row in FINDINGS), family_pairs=pairs,
            histogram=ScoreHistogram((-inf, 0.5, inf), (0.25, 0.75), (0.5, 0.5), (True, False)),
            command="dpcurves audit",
        )
        for parameter, delta, bound, is_flagged, side, pairs in (
            ("epsilon", 1e-6, 1.75, True, "left", 1), ("rho", 0.0, 0.5, True, "right", 1),
            ("epsilon", 0.0, 0.5, False, "left", 1), ("epsilon", 0.0, 0.5, False, "right", 7),
        )
    ]  # fmt: skip
    reports.append(replace(reports[2], kinds=(f"{NO_ANSWER[0]} KeyError",), findings=()))
    assert [report.is_flagged for report in reports] == [True, True, False, False, False]
    assert [reports[3].is_partial, reports[4].is_silent] == [True, True]
    english = [(str(report), report.to_html(), report.to_json()) for report in reports]
    with use_language(language):
        translated = [(str(report), report.to_html(), report.to_json()) for report in reports]
    assert not untranslated
    for (text, page, document), (own_text, own_page, own_document) in zip(english, translated, strict=True):
        assert own_document == document
        assert own_text != text
        assert f'<html lang="{language}">' in own_page
        for shown in (own_text, visible_text(own_page)):
            kept = re.sub("number 1 is at most 7|3 joins 5( records)?|one number", "", shown)
            assert not re.search(r"\b(the|of|is|and|with|calls|pairs|noise|claimed|samples)\b", kept), kept
        assert page.count("<tr>") == own_page.count("<tr>")
    refused = CliRunner().invoke(
        build(["audit"]), ["audit", "command", "false {data} {out}", "--family", "values:0:1:2", "--epsilon", "1",
                           "--language", "tlh"]
    )  # fmt: skip
    assert refused.stderr.startswith("dpcurves: language: use one of en, de, fr, es")


def test_english_readers_need_no_catalogue() -> None:
    assert translate("records") == "records"
    with use_language("en"):
        assert translate("records") == "records"
