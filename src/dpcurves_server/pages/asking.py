"""Pages of questions: their forms, plans and sketches, those that were asked, and their answers."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from textwrap import dedent
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Response

from dpcurves.arguments import InvalidArgument
from dpcurves.curves.question_json import question_to_json
from dpcurves.display.text import plan_lines
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.messages import ProtocolError

from ..forms import Form, Given
from ..inputs import MOST_CELLS, build_inputs, complete_fields
from ..projects import Project
from ..questions import AskedQuestion, QuestionPlan, State, redact_question
from ..releases import DRAWN, Answer
from ..studio import (
    DUMMY,
    MADE,
    SYNTHETIC,
    Drawing,
    collect_comparison_inputs,
    collect_file_inputs,
    collect_sketch_inputs,
    is_comparable,
    to_standalone_svg,
)
from ..synthetic import SyntheticTable
from ..visitors import Right, Subject, may, require
from .visits import CSRF, NOT_DRAWN, PendingResponse, Visit, download, parse_price, redirect_to

AMOUNT, DO, SEEN = "amount", "do", "seen"
OWN = frozenset({CSRF, DO, SEEN})
"""Fields that say nothing of the question."""


@dataclass(frozen=True, slots=True)
class FormError:
    """Refusal of a question before it is planned: the field of the form, and the reason.

    Attributes:
        field: The field.
        message: What is wrong with it.
    """

    field: str
    message: str


def show_question_types(visit: Visit) -> Response:
    """Kinds of questions that may be asked."""
    found = visit.services.projects.get(visit.visitor, visit.path_params["project"])
    require(visit.visitor, Right.ASK, found.subject)
    return visit.render("kinds.html", project=found, forms=visit.site.forms.values())


def show_form(visit: Visit) -> Response:
    """The form of one question, empty or as an address has it."""
    return _render_form(visit, visit.query, question_plan=None, error=None)


def submit_form(visit: Visit) -> Response:
    """Show the plan, or ask: as the button says that was pressed. What was changed since its plan is planned again."""
    project, form = _find_project_and_form(visit)
    try:
        stored, loss = _parse_form(visit, project, form, visit.form)
        planned = visit.services.questions.plan(visit.visitor, project.name, stored, loss)
        if visit.form_value(DO) == "ask" and visit.form_value(SEEN) in ("", _format_plan(planned)):
            asked = visit.services.questions.ask(visit.visitor, project.name, stored, loss)
            return redirect_to("questions", asked.id)
    except ProtocolError:
        raise
    except ValueError as error:
        return _render_form(visit, visit.form, question_plan=None, error=_form_error(error), status=400)
    return _render_form(visit, visit.form, question_plan=planned, error=None)


def show_plan(visit: Visit) -> Response:
    """The plan alone, as one types. While there is nothing to plan yet, what is missing is not called wrong."""
    project, form = _find_project_and_form(visit)
    planned, wrong = None, None
    try:
        stored, loss = _parse_form(visit, project, form, visit.form)
        planned = visit.services.questions.plan(visit.visitor, project.name, stored, loss)
    except ProtocolError:
        raise
    except ValueError as error:
        wrong = _form_error(error) if _is_complete(visit, project, form) else None
    return visit.render("plan.html", **_form_context(visit, project, form, planned, wrong))


def _is_complete(visit: Visit, project: Project, form: Form) -> bool:
    """Tell whether all that a question needs was typed, be it wrong."""
    columns = visit.services.datasets.get(visit.visitor, project.dataset).columns
    with suppress(InvalidArgument):
        typed = complete_fields(form, visit.form, columns)
        needed = (*(each.name for each in form.fields if each.is_required), AMOUNT)
        return all("".join(typed.get(name, ())).strip() for name in needed)
    return True


def show_sketch(visit: Visit) -> Response:
    """The sketch of an answer."""
    project, form = _find_project_and_form(visit)
    stored, loss = _parse_form(visit, project, form, visit.query)
    planned = visit.services.questions.plan(visit.visitor, project.name, stored, loss)
    synthetic = visit.services.synthetic.find(visit.visitor, planned.dataset.name, planned.dataset.version)
    facts, studio = collect_sketch_inputs(planned), visit.services.studio
    found = studio.find(facts, synthetic)
    return (
        _download_sketch(found)
        if found
        else PendingResponse(visit, studio.submit(facts, synthetic, visit.visitor.name), _download_sketch)
    )


def _download_sketch(sketch: Drawing) -> Response:
    return download(sketch.svg, "image/svg+xml")


def _find_project_and_form(visit: Visit) -> tuple[Project, Form]:
    project = visit.services.projects.get(visit.visitor, visit.path_params["project"])
    require(visit.visitor, Right.ASK, project.subject)
    form = visit.site.forms.get(visit.path_params["word"])
    if form is None:
        raise ProtocolError("question", "there is none of this name", 404)
    return project, form


def _parse_form(visit: Visit, project: Project, form: Form, values: Given) -> tuple[Mapping[str, Any], PrivacyLoss]:
    dataset = visit.services.datasets.get(visit.visitor, project.dataset)
    typed = complete_fields(form, values, dataset.columns)
    stored = question_to_json(
        form.build_question(typed, visit.services.models.index_by_name(visit.visitor, project.name))
    )
    return stored, parse_price(AMOUNT, dataset.account.currency, "".join(values.get(AMOUNT, ())).strip())


def _form_error(error: ValueError) -> FormError:
    return FormError(str(getattr(error, "argument", "")), str(error))


def _render_form(
    visit: Visit, values: Given, question_plan: QuestionPlan | None, error: FormError | None, status: int = 200
) -> Response:
    project, form = _find_project_and_form(visit)
    facts = _form_context(visit, project, form, question_plan, error)
    names = visit.services.models.index_by_name(visit.visitor, project.name).names
    first, others = build_inputs(form, facts["dataset"].columns, names)
    aside = [each.field.name for each in others]
    parts = [f"{name}{part}" for name in aside for part in ("", ".lower", ".upper", ".cells")]
    opened = any("".join(values.get(name, ())).strip() for name in parts) or (error and error.field in aside)
    return visit.render(
        "question.html", status, given=values, opened=opened, first=first, others=others, most_cells=MOST_CELLS, **facts
    )


def _form_context(
    visit: Visit, project: Project, form: Form, question_plan: QuestionPlan | None, error: FormError | None
) -> dict[str, Any]:
    dataset = (
        visit.services.datasets.get(visit.visitor, project.dataset) if question_plan is None else question_plan.dataset
    )
    remaining = (
        visit.services.projects.remaining(visit.visitor, project.name)
        if question_plan is None
        else question_plan.remaining
    )
    return {
        "project": project, "form": form, "wrong": error, "dataset": dataset, "remaining": remaining,
        "plan": None if question_plan is None else _plan_context(visit, question_plan, form),
        "left": None if remaining is None else remaining.remaining,
        "slides": None if remaining is None else remaining.remaining.digits,
        "currency": dataset.account.currency.value,
    }  # fmt: skip


def _plan_context(visit: Visit, question_plan: QuestionPlan, form: Form) -> dict[str, Any]:
    """A plan in words: what is paid for, what has to be known before, releases that are free, and where a sketch is."""
    table = visit.services.synthetic.describe(visit.visitor, question_plan.dataset.name, question_plan.dataset.version)
    earlier = (
        ()
        if question_plan.earlier_question is None or question_plan.earlier_question.state is State.REFUSED
        else (question_plan.earlier_question,)
    )
    free = {each.id: each for each in (*question_plan.published_answers, *earlier)}
    own = {name: texts for name, texts in visit.form.items() if name not in OWN and any(texts)}
    place = "/".join(quote(each, safe="") for each in (question_plan.project.name, "ask", form.command, "sketch.svg"))
    return {
        "words": _format_plan(question_plan), "notes": question_plan.notes, "free": tuple(free.values()),
        "turns": tuple(plan_lines(question_plan.plans, question_plan.dataset.units)), "too_much": _budget_message(question_plan),
        "price": question_plan.dataset.account.currency.price(question_plan.loss), "cost": _format_cost(question_plan),
        "sketch": f"/projects/{place}?{urlencode(own, doseq=True)}",
        "sketched_from": DUMMY if table is None else SYNTHETIC,
    }  # fmt: skip


def _format_plan(question_plan: QuestionPlan) -> str:
    return f"{question_plan.question}: {question_plan.loss}"


def _format_cost(question_plan: QuestionPlan) -> str:
    """The price on the button: nothing where the project has paid for it before."""
    return "nothing" if question_plan.is_paid or question_plan.earlier_question is not None else str(question_plan.loss)


def _budget_message(question_plan: QuestionPlan) -> str:
    if question_plan.is_affordable:
        return ""
    if question_plan.remaining is None:
        return "No share of the budget was set for you yet: the steward of the dataset does that."
    return f"This is more than the {question_plan.remaining.remaining} that is left to you."


ARTIST = {"svg": "image/svg+xml", **MADE}
"""Media types of what the process draws. Kept pictures are as workers drew them."""
MOST_ON_ONE = 6
"""Releases that one picture shows."""
NO_SYNTHETIC = "No synthetic table was put beside this dataset yet."


def show_question(visit: Visit) -> Response:
    """Page of a question: its status, and its answer once there is one."""
    asked = visit.services.questions.get(visit.visitor, visit.path_params["question"])
    if asked.state is State.ANSWERED:
        return redirect_to("releases", asked.id)
    return visit.render("waiting.html", **_progress_context(visit, asked))


def show_progress(visit: Visit) -> Response:
    """The status of a question as a fragment of its page; at the end the page reloads by itself."""
    asked = visit.services.questions.get(visit.visitor, visit.path_params["question"])
    answer = visit.render("progress.html", **_progress_context(visit, asked))
    if asked.state is State.ANSWERED:
        answer.headers["HX-Redirect"] = f"/releases/{asked.id}"
    return answer


def show_release(visit: Visit) -> Response:
    """An answer: its picture, what was found, and the same curve of the synthetic table."""
    found = visit.services.releases.get(visit.visitor, visit.path_params["release"])
    asked = redact_question(visit.visitor, found.asked_question)
    compared = is_comparable(found)
    synthetic = visit.services.synthetic.find(visit.visitor, asked.dataset, asked.version) if compared else None
    beside = None if synthetic is None else _find_or_submit_comparison(visit, found, synthetic)
    can_publish = found.published_at is None and may(visit.visitor, Right.PUBLISH, Subject(asked.dataset))
    return visit.render(
        "release.html", asked=asked, facts=found.facts, published_at=found.published_at, may_publish=can_publish,
        comparison=beside, statement="" if synthetic is None else synthetic.statement,
        may_compare=NO_SYNTHETIC if compared else "", python=_python_example(asked, visit.host), drawn=found.is_drawn,
    )  # fmt: skip


def show_figure(visit: Visit) -> Response:
    """The place of the picture, as a piece of its page: it comes again until the picture is there."""
    found = visit.services.releases.get(visit.visitor, visit.path_params["release"])
    return visit.render(
        "figure.html",
        asked=redact_question(visit.visitor, found.asked_question),
        facts=found.facts,
        drawn=found.is_drawn,
    )


def send_picture(visit: Visit) -> Response:
    """The picture of an answer."""
    return _respond_when_drawn(visit, lambda found: download(to_standalone_svg(found.svg), "image/svg+xml"))


def show_comparison(visit: Visit) -> Response:
    """An answer beside the synthetic table, as a piece of its page."""
    found, synthetic = _find_compared(visit)
    asked = redact_question(visit.visitor, found.asked_question)

    def render_comparison(drawing: Drawing) -> Response:
        return visit.render(
            "comparison.html", asked=asked, comparison=drawing, statement=synthetic.statement, may_compare=""
        )

    return PendingResponse(
        visit, visit.services.studio.submit(collect_comparison_inputs(found), synthetic), render_comparison
    )


def send_comparison_picture(visit: Visit) -> Response:
    """The picture of an answer beside the synthetic table."""
    found, synthetic = _find_compared(visit)
    coming = visit.services.studio.submit(collect_comparison_inputs(found), synthetic)
    return PendingResponse(visit, coming, lambda drawn: download(drawn.svg, "image/svg+xml"))


def _find_compared(visit: Visit) -> tuple[Answer, SyntheticTable]:
    found = visit.services.releases.get(visit.visitor, visit.path_params["release"])
    synthetic = visit.services.synthetic.find(visit.visitor, found.asked_question.dataset, found.asked_question.version)
    if synthetic is None or not is_comparable(found):
        raise ProtocolError("comparison", "there is none", 404)
    return found, synthetic


def _find_or_submit_comparison(visit: Visit, answer: Answer, synthetic: SyntheticTable) -> Drawing | None:
    """The comparison, or None after it was queued."""
    facts, studio = collect_comparison_inputs(answer), visit.services.studio
    kept = studio.find(facts, synthetic)
    with suppress(ProtocolError):  # too many wait: who looks again begins it
        if kept is None:
            studio.submit(facts, synthetic)
    return kept


def export_release(visit: Visit) -> Response:
    """An answer as a file."""
    ending = visit.path_params["ending"]
    if ending in ARTIST and ending not in DRAWN:
        found = visit.services.releases.get(visit.visitor, visit.path_params["release"])
        return _export_drawing(visit, [found], ending, f"release-{found.id[:12]}.{ending}")
    if ending in DRAWN:
        return _respond_when_drawn(visit, lambda found: _download_answer(found, ending))
    return _download_answer(visit.services.releases.get(visit.visitor, visit.path_params["release"]), ending)


def _export_drawing(visit: Visit, releases: Sequence[Answer], form: str, name: str = "") -> Response:
    """A file that the process makes which draws; nobody else draws while pages are served."""

    def download_drawing(drawing: Drawing) -> Response:
        content = drawing.svg.encode() if form == "svg" else b64decode(drawing.file)
        return download(content, ARTIST[form], name)

    return PendingResponse(
        visit, visit.services.studio.submit(collect_file_inputs(releases, form), None), download_drawing
    )


def show_combined(visit: Visit) -> Response:
    """Several releases of a project on one picture: which, and the picture once two are chosen."""
    project = visit.services.projects.get(visit.visitor, visit.path_params["project"])
    answered = [
        redact_question(visit.visitor, each) for each in visit.services.releases.all(visit.visitor, project.name)
    ]
    chosen, wrong = _find_chosen(visit), ""
    if len(chosen) == 1 or len(chosen) > MOST_ON_ONE:
        wrong = f"Choose two to {MOST_ON_ONE} releases."
    elif len({_plot_axis(each.asked_question.question) for each in chosen}) > 1:
        wrong = "Releases on one picture are of one kind and one column; these are not."
    ids = [each.id for each in chosen]
    return visit.render(
        "together.html", project=project, answered=answered, chosen=ids, wrong=wrong,
        address=urlencode([("of", each) for each in ids]),
    )  # fmt: skip


def _plot_axis(question: Mapping[str, Any]) -> tuple[Any, ...]:
    """The kind of a question, and the column along which its answer is drawn."""
    return question["ask"], question.get("column"), question.get("time")


def send_combined_picture(visit: Visit) -> Response:
    """The picture of several releases, to be shown or kept."""
    form, chosen = visit.path_params["ending"], _find_chosen(visit)
    if form not in ("svg", "png") or not 2 <= len(chosen) <= MOST_ON_ONE:
        raise ProtocolError("picture", f"svg or png of two to {MOST_ON_ONE} releases is there", 404)
    return _export_drawing(visit, chosen, form, f"releases.{form}" if visit.query.get("keep") else "")


def _find_chosen(visit: Visit) -> list[Answer]:
    """The releases that an address names, each of which the visitor may see."""
    project = visit.services.projects.get(visit.visitor, visit.path_params["project"])
    ids = list(dict.fromkeys(visit.query.get("of", ())))[: MOST_ON_ONE + 1]
    found = [visit.services.releases.get(visit.visitor, each) for each in ids]
    if any(each.asked_question.project != project.name for each in found):
        raise ProtocolError("release", "there is none of this name", 404)
    return found


def _respond_when_drawn(visit: Visit, respond: Callable[[Answer], Response]) -> Response:
    """Respond with an artefact of a drawn answer; with the status "not drawn" where a client has to try again."""
    releases, id = visit.services.releases, visit.path_params["release"]
    found = (releases.get_with_drawing if visit.has_waited else releases.get)(visit.visitor, id)
    return respond(found) if found.is_drawn else Response(status_code=NOT_DRAWN)


def _download_answer(answer: Answer, ending: str) -> Response:
    name = f"release-{answer.id[:12]}"
    if ending == "html":
        head = f'<meta charset="utf-8"><title>{escape(answer.asked_question.purpose)}</title>'
        text = f'<!doctype html><html lang="en">{head}{answer.load_curve().render_html(answer.svg)}</html>'
        return download(text, "text/html", f"{name}.html")
    kept = {
        "svg": (to_standalone_svg(answer.svg), "image/svg+xml"),
        "csv": (answer.csv, "text/csv"),
        "json": (answer.json, "application/json"),
    }
    if ending not in kept:
        raise ProtocolError("export", "svg, png, csv, xlsx, json or html is there", 404)
    return download(*kept[ending], f"{name}.{ending}")


def publish_release(visit: Visit) -> Response:
    """Show a release to everybody who sees datasets here."""
    visit.services.releases.publish(visit.visitor, visit.path_params["release"])
    return redirect_to("releases", visit.path_params["release"], message="published")


def _progress_context(visit: Visit, asked: AskedQuestion) -> dict[str, Any]:
    waits = asked.state not in (State.ANSWERED, State.REFUSED)
    before = visit.services.questions.count_before(visit.visitor, asked) if waits else 0
    return {"question": redact_question(visit.visitor, asked), "waits": waits, "before": before}


def _python_example(asked: AskedQuestion, host: str) -> str:
    loss = asked.loss
    price = f'PrivacyLoss.pure("{loss.epsilon}")' if loss.epsilon is not None else f'PrivacyLoss.zcdp("{loss.rho}")'
    return dedent(
        f"""\
        import dpcurves as dp
        from dpcurves.curves.question_json import question_from_json

        remote = dp.Remote({host!r}, token="...")  # of your project; ca="cert.pem" if no authority signed it
        question = question_from_json({dict(asked.question)!r})
        curve = remote.ask(question, dp.{price})  # asked before: costs nothing more
        """
    )
