"""Pages on which people ask questions: forms, plans, sketches, the status of questions, and answers.

Most functions are handlers of routes, which `site` lists. A handler parses the request, calls a service, and fills a
template.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Response

from dpcurves.arguments import ArgumentError, InvalidArgument
from dpcurves.curves.question_code import write_loss_code, write_question_code
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.curves.view import View, find_view
from dpcurves.ledger.chain import LedgerBusy
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.database import BUSY_MESSAGE
from dpcurves_parties.serving.messages import ProtocolError, ServerFault
from dpcurves_parties.serving.monitoring import log_operator_message

from ..dataset_views import VIEW, declare_view_columns, list_form_columns, require_view_of_columns
from ..form_errors import FormError, describe_form_error
from ..form_inputs import MOST_FORM_CELLS, build_inputs, complete_fields, split_ranges
from ..forms import FieldValues, Form
from ..planner import parse_row_share
from ..principals import Right, Subject, has_right, not_found, require
from ..projects import Project
from ..questions import AskedQuestion, QuestionPlan, State, redact_question
from ..releases import DRAWN_FORMATS, Answer, render_page, render_statement
from ..renderer import (
    DUMMY_TABLE,
    REQUESTED_MEDIA_TYPES,
    SYNTHETIC_TABLE,
    TRANSLATED_MEDIA_TYPES,
    Drawing,
    collect_comparison_inputs,
    collect_file_inputs,
    collect_sketch_inputs,
    find_drawn_type,
    is_comparable,
    to_standalone_svg,
)
from ..synthetic import SyntheticTable
from .page_context import CSRF_FIELD, NOT_DRAWN, PendingResponse, Visit, download, parse_price, redirect_to

AMOUNT_FIELD = "amount"
"""Name of the form field of the price (epsilon or rho)."""
BUTTON_FIELD = "do"
"""Name of the form field of the pressed button; its value `ask` asks the question, any other shows the plan."""
ROW_SHARE_FIELD = "share_of_rows"
"""The form field of the guessed share of rows that pass the filter, on which the expected errors and the sketch depend;
it is not part of the question."""
SEEN_PLAN_FIELD = "seen"
"""The form field that names the plan (price and expected errors) which the analyst saw; if another plan holds when the
question is sent, that one is shown first."""
PAGE_FIELDS = frozenset({CSRF_FIELD, BUTTON_FIELD, SEEN_PLAN_FIELD})
"""Form fields that are not part of the question: requests for its sketch leave them out."""


@dataclass(frozen=True, slots=True)
class QuestionGroup:
    """Questions that are listed together.

    Attributes:
        title: What the questions are about.
        questions: The commands of the questions, each with the name of its drawing in `try_icons.html` and its title.
    """

    title: str
    questions: Mapping[str, tuple[str, str]]


QUESTION_GROUPS = (
    QuestionGroup("How values are distributed", {
        "cdf": ("cdf", "Share below each value"), "histogram": ("bars", "Histogram of a number"),
        "bars": ("categories", "Bar chart of categories"), "quantiles": ("quantiles", "Median and quantiles"),
    }),
    QuestionGroup("Single numbers", {
        "count": ("categories", "How many records"), "sum": ("means", "Sum"), "mean": ("means", "Mean"),
        "variance": ("means", "Variance"), "summary": ("means", "Count, sum, mean and variance"),
        "bounds": ("quantiles", "Bounds on the values"),
    }),
    QuestionGroup("Two columns together", {
        "contingency": ("table", "Table of two columns of categories"), "table": ("table", "Table of two numbers"),
        "verify": ("calibration", "Is a claim about a regression true?"),
    }),
    QuestionGroup("Time until an event", {
        "survival": ("survival", "Survival"), "incidence": ("survival", "Several kinds of event"),
        "delayed-entry": ("survival", "Survival of people who enter later"),
        "interval-censored": ("survival", "Survival between two examinations"),
    }),
    QuestionGroup("How good is a model?", {
        "roc": ("roc", "ROC curve and its area (AUC)"), "scores": ("roc", "All curves of a score at one price"),
        "calibration": ("calibration", "Calibration curve"),
        "hosmer-lemeshow": ("calibration", "Test of calibration (Hosmer and Lemeshow)"),
        "binned-residuals": ("calibration", "Residuals of a classifier, in bins"),
        "residuals": ("calibration", "Residuals of a regression"),
        "predicted-observed": ("calibration", "Predicted against observed numbers"),
        "quantile-forecasts": ("quantiles", "Forecasts of quantiles"), "model-pair": ("roc", "Two models compared"),
        "model-comparison": ("roc", "Several models compared"), "multiclass": ("roc", "Several classes"),
        "ordinal-classes": ("roc", "Three ordered classes"), "uplift": ("roc", "Uplift of a treatment"),
        "survival-model": ("survival", "Model of survival at a time"),
        "pairwise-scorer": ("roc", "Learn a score from pairs"),
    }),
)  # fmt: skip
"""The questions of the pages, grouped by subject: picture and words of each; all others stand in a last group."""


QUESTION_HELP: Mapping[str, str] = {
    "cdf": "The share of records at or below each value.",
    "quantiles": "All quantiles come from one distribution function, so more quantiles cost no more.",
    "histogram": "", "bars": "The number of records in each declared category.",
    "survival": "Medians, numbers at risk and cumulative hazards are read from the same release.",
    "incidence": "Cumulative incidence (Aalen and Johansen) and cumulative hazard of each cause, numbers at risk, and "
    "Gray's test of groups.",
    "delayed-entry": "The range begins where enough have entered; the curve is of those without an event by then.",
    "scores": "ROC and precision-recall curve, gain, decision curve, calibration and more come from one release.",
    "roc": "", "calibration": "The share of positive labels among records of similar score.",
}  # fmt: skip
"""Help texts of questions on pages, by question; they replace the command line's help, which has other defaults."""


def list_question_groups(forms: Mapping[str, Form]) -> list[dict[str, Any]]:
    """Return the groups of question forms for the page that lists them; forms in no group are listed last.

    Args:
        forms: Forms of the questions, by command.

    Returns:
        For each group its title and its questions (form, icon and title).
    """
    listed = {command for group in QUESTION_GROUPS for command in group.questions}
    others = {command: ("table", form.title) for command, form in forms.items() if command not in listed}
    groups = [*QUESTION_GROUPS, QuestionGroup("Other questions", others)]
    context = []
    for group in groups:
        questions = [
            {"form": forms[command], "icon": icon, "title": title}
            for command, (icon, title) in group.questions.items()
            if command in forms
        ]
        if questions:
            context.append({"title": group.title, "questions": questions})
    return context


def show_question_types(visit: Visit) -> Response:
    """Return the page that lists the types of questions of a dataset, by group.

    Args:
        visit: Request, whose path names the project.

    Raises:
        ProtocolError: the person may not ask in the project.
    """
    project = visit.services.projects.get(visit.principal, visit.path_params["project"])
    require(visit.principal, Right.ASK, project.subject)
    return visit.render("kinds.html", project=project, groups=list_question_groups(visit.site.forms))


def show_form(visit: Visit) -> Response:
    """Answer with the page of a question's form, empty or filled in from the URL.

    Args:
        visit: Request with the question's fields in the URL; the path names the project and the type of question.
    """
    return _render_form(visit, visit.query, question_plan=None, error=None)


def submit_form(visit: Visit) -> Response:
    """Answer a submitted question form: show the plan, or ask the question, depending on the pressed button. A question
    that differs from the plan shown is planned again, not asked.

    Args:
        visit: Request of a signed-in person, with the form's fields.

    Returns:
        Redirection to the asked question; the form with the plan; or the form with the error, with status 400, or 503
        if the database is busy.
    """
    project, form = _find_project_and_form(visit)
    try:
        question_json, loss = _parse_form(visit, project, form, visit.form)
        row_share = _find_row_share(visit.form)
        question_plan = visit.services.questions.plan(visit.principal, project.name, question_json, loss, row_share)
        if visit.form_value(BUTTON_FIELD) == "ask" and visit.form_value(SEEN_PLAN_FIELD) in (
            "",
            _format_plan(question_plan),
        ):
            question = visit.services.questions.ask(visit.principal, project.name, question_json, loss)
            return redirect_to("questions", question.id)
    except ServerFault as fault:
        if fault.status != 503:
            raise
        log_operator_message(fault.where)
        error: ArgumentError = fault
        status = 503  # another process holds the database: what was typed can be sent again
    except ProtocolError:
        raise
    except LedgerBusy:
        error, status = ProtocolError("store", BUSY_MESSAGE), 503
    except ArgumentError as refusal:
        error, status = refusal, 400
    else:
        return _render_form(visit, visit.form, question_plan=question_plan, error=None)
    form_error = _form_error(visit, form, error, visit.form)
    return _render_form(visit, visit.form, question_plan=None, error=form_error, status=status)


def show_plan(visit: Visit) -> Response:
    """Return the plan as a fragment while the form is edited. Missing fields are not reported as errors.

    Args:
        visit: Request with the form; the path names the project and the type of question.

    Raises:
        ProtocolError: the project is hidden from the person, or the plan could not be made.
    """
    project, form = _find_project_and_form(visit)
    question_plan, form_error = None, None
    try:
        question_json, loss = _parse_form(visit, project, form, visit.form)
        row_share = _find_row_share(visit.form)
        question_plan = visit.services.questions.plan(visit.principal, project.name, question_json, loss, row_share)
    except (ProtocolError, LedgerBusy):
        raise
    except ArgumentError as error:
        is_reported = _is_complete(visit, project, form)
        form_error = _form_error(visit, form, error, visit.form) if is_reported else None
    return visit.render("plan.html", **_form_context(visit, project, form, question_plan, form_error))


def _is_complete(visit: Visit, project: Project, form: Form) -> bool:
    """Return True if all required fields are filled in, correctly or not.

    Args:
        visit: The request, with the sent form.
        project: Project that the question belongs to.
        form: Form of the question.
    """
    with suppress(InvalidArgument):
        typed, _ = complete_typed_fields(visit, project, form, visit.form)
        required = (*(field.name for field in form.fields if field.is_required), AMOUNT_FIELD)
        return all("".join(typed.get(name, ())).strip() for name in required)
    return True


def show_sketch(visit: Visit) -> Response:
    """Answer with the sketch of a question: a picture of its answer on made-up or synthetic data.

    Args:
        visit: Request with the question's fields in the URL.

    Returns:
        SVG, once it is drawn.
    """
    project, form = _find_project_and_form(visit)
    question_json, loss = _parse_form(visit, project, form, visit.query)
    row_share = _find_row_share(visit.query)
    question_plan = visit.services.questions.plan(visit.principal, project.name, question_json, loss, row_share)
    synthetic = visit.services.synthetic.find(
        visit.principal, question_plan.dataset.name, question_plan.dataset.version
    )
    inputs = collect_sketch_inputs(question_plan)
    studio = visit.services.studio
    drawing = studio.find(inputs, synthetic)
    if drawing:
        return _download_sketch(drawing)
    return PendingResponse(visit, studio.submit(inputs, synthetic, visit.principal.name), _download_sketch)


def _download_sketch(sketch: Drawing) -> Response:
    """Return the sketch of a question as an SVG file to download."""
    return download(sketch.svg, "image/svg+xml")


def _find_project_and_form(visit: Visit) -> tuple[Project, Form]:
    """Return the project and the question form that the path names.

    Args:
        visit: Request.

    Raises:
        ProtocolError: the person may not ask in this project, or no form has the name (status 404).
    """
    project = visit.services.projects.get(visit.principal, visit.path_params["project"])
    require(visit.principal, Right.ASK, project.subject)
    form = visit.site.forms.get(visit.path_params["word"])
    if form is None:
        raise ProtocolError("question", "there is no question of this type; choose one from the list of questions", 404)
    return project, form


def _parse_form(
    visit: Visit, project: Project, form: Form, values: FieldValues
) -> tuple[Mapping[str, Any], PrivacyLoss]:
    """Return the question that typed fields describe, as a JSON object, and the privacy loss to charge.

    Args:
        visit: Request.
        project: The project.
        form: Form of the question.
        values: Typed texts by field.

    Raises:
        ValueError: a field is wrong; the error names it.
    """
    dataset = visit.services.datasets.get(visit.principal, project.dataset)
    typed, view = complete_typed_fields(visit, project, form, values)
    question_json = question_to_json(
        form.build_question(
            typed,
            visit.services.models.index_by_name(visit.principal, project.name),
            {str(declared.column) for declared in dataset.columns},
        )
    )
    if view is not None:
        question_json = {**question_json, VIEW: view.name}
    return question_json, parse_price(
        AMOUNT_FIELD, dataset.account.currency, "".join(values.get(AMOUNT_FIELD, ())).strip()
    )


def complete_typed_fields(
    visit: Visit, project: Project, form: Form, values: FieldValues
) -> tuple[FieldValues, View | None]:
    """Return the typed fields, completed with the declared ranges and categories, and the view that was chosen.

    Args:
        visit: Request.
        project: The project, which has the data set.
        form: Form of the question.
        values: Typed texts by field.

    Returns:
        Texts by field, and the view; None if no view was chosen.

    Raises:
        ValueError: a part of a range is missing or wrong, a label is not declared, or no view has the name.
    """
    views = visit.services.datasets.views(visit.principal, project.dataset)
    name = "".join(values.get(VIEW, ())).strip()
    view = find_view(name, views) if name else None
    columns = visit.services.datasets.get(visit.principal, project.dataset).columns
    typed = {text for texts in values.values() for text in texts}
    require_view_of_columns(typed | {text.strip() for text in typed}, columns, view, views)
    return complete_fields(form, values, declare_view_columns(columns, view)), view


def _find_row_share(values: FieldValues) -> float | None:
    """Return the typed share of rows that pass the filter; None if none was typed.

    Args:
        values: Typed texts by field.

    Returns:
        Fraction from 0 to 1.

    Raises:
        ValueError: the text is no number above 0 and at most 1.
    """
    text = "".join(values.get(ROW_SHARE_FIELD, ())).strip()
    return parse_row_share(text) if text else None


def _form_error(visit: Visit, form: Form, error: ArgumentError, values: FieldValues) -> FormError:
    """Return an error as the field that it concerns and a message in the words of the page.

    Args:
        visit: The request.
        form: Form that was sent.
        error: Why it was refused.
        values: Typed texts by name of the field.
    """
    return describe_form_error(
        form, error, values, {command: listed.title for command, listed in visit.site.forms.items()}
    )


def _render_form(
    visit: Visit, values: FieldValues, question_plan: QuestionPlan | None, error: FormError | None, status: int = 200
) -> Response:
    """Return the page of a question's form with the typed values, the plan or the error.

    Args:
        visit: Request.
        values: Typed texts by field.
        question_plan: Plan to show; None: no plan.
        error: Error to show beside its field; None: no error.
        status: HTTP status.
    """
    project, form = _find_project_and_form(visit)
    context = _form_context(visit, project, form, question_plan, error)
    names = visit.services.models.index_by_name(visit.principal, project.name).names
    columns = list_form_columns(context["dataset"].columns, context["views"])
    first, others = build_inputs(form, columns, names)
    further_fields = [form_input.field.name for form_input in others]
    field_names = [f"{name}{suffix}" for name in further_fields for suffix in ("", ".lower", ".upper", ".cells")]
    is_open = any("".join(values.get(name, ())).strip() for name in field_names) or (
        error is not None and error.field.partition(".")[0] in further_fields
    )
    return visit.render(
        "question.html",
        status,
        given=split_ranges(form, values),
        opened=is_open,
        first=first,
        others=others,
        most_cells=MOST_FORM_CELLS,
        **context,
    )


def _form_context(
    visit: Visit, project: Project, form: Form, question_plan: QuestionPlan | None, error: FormError | None
) -> dict[str, Any]:
    """Return the template context of a form: project, dataset, remaining budget, plan and error.

    Args:
        visit: Request.
        project: The project.
        form: Form of the question.
        question_plan: Plan to show; None: no plan.
        error: Error to show; None: no error.
    """
    if question_plan is None:
        dataset = visit.services.datasets.get(visit.principal, project.dataset)
        remaining = visit.services.projects.remaining(visit.principal, project.name)
    else:
        dataset = question_plan.dataset
        remaining = question_plan.remaining
    return {
        "views": visit.services.datasets.views(visit.principal, project.dataset),
        "project": project, "form": form, "help": QUESTION_HELP.get(form.command, form.help), "wrong": error,
        "dataset": dataset, "remaining": remaining,
        "plan": None if question_plan is None else _plan_context(visit, question_plan, form),
        "left": None if remaining is None else remaining.remaining,
        "slides": None if remaining is None else remaining.remaining.digits,
        "currency": dataset.account.currency.value,
    }  # fmt: skip


def _plan_context(visit: Visit, question_plan: QuestionPlan, form: Form) -> dict[str, Any]:
    """Return the template context of a plan: rounds, price, notes, free answers and the URL of the sketch.

    Args:
        visit: Request.
        question_plan: The plan.
        form: Form of the question.

    Returns:
        Values by name in the template.
    """
    table = visit.services.synthetic.describe(
        visit.principal, question_plan.dataset.name, question_plan.dataset.version
    )
    earlier = (
        ()
        if question_plan.earlier_question is None or question_plan.earlier_question.state is State.REFUSED
        else (question_plan.earlier_question,)
    )
    free_answers = {answer.id: answer for answer in (*question_plan.published_answers, *earlier)}
    fields = {name: texts for name, texts in visit.form.items() if name not in PAGE_FIELDS and any(texts)}
    path = "/".join(
        quote(segment, safe="") for segment in (question_plan.project.name, "ask", form.command, "sketch.svg")
    )
    return {
        "words": _format_plan(question_plan), "notes": question_plan.notes, "free": tuple(free_answers.values()),
        "rounds": question_plan.plans.lines, "row_share": question_plan.plans.row_share,
        "too_much": _budget_message(question_plan),
        "price": question_plan.dataset.account.currency.price(question_plan.loss), "cost": _format_cost(question_plan),
        "sketch": f"/projects/{path}?{urlencode(fields, doseq=True)}",
        "sketched_from": DUMMY_TABLE if table is None else SYNTHETIC_TABLE,
    }  # fmt: skip


def _format_plan(question_plan: QuestionPlan) -> str:
    """Return question and loss of a plan in one line; the form sends it back, to show that this plan was seen.

    Args:
        question_plan: Plan that the page has shown.
    """
    return f"{question_plan.question}: {question_plan.loss}"


def _format_cost(question_plan: QuestionPlan) -> str:
    """Return the price on the button: "nothing" if the project has paid for the query.

    Args:
        question_plan: Plan of the question, with its loss.
    """
    return "nothing" if question_plan.is_paid or question_plan.earlier_question is not None else str(question_plan.loss)


def _budget_message(question_plan: QuestionPlan) -> str:
    """Return why the price cannot be paid; an empty text if it can.

    Args:
        question_plan: Plan of the question, with the remaining budget.

    Returns:
        English sentences.
    """
    if question_plan.is_affordable:
        return ""
    if question_plan.remaining is None:
        return "You have no share of the budget yet. Ask the steward of the dataset."
    return f"This is more than the {question_plan.remaining.remaining} that you have left."


MOST_RELEASES_ON_A_PICTURE = 6
"""Largest number of releases in one picture that compares them; more are refused."""
NO_SYNTHETIC = "This dataset has no synthetic table yet."
"""Text that a page shows where releases could be compared with a synthetic table, if the dataset has none."""


def show_question(visit: Visit) -> Response:
    """Answer with the page of a question's status; redirect to the answer once it is released.

    Args:
        visit: Request, whose path names the question.
    """
    question = visit.services.questions.get(visit.principal, visit.path_params["question"])
    if question.state is State.ANSWERED:
        return redirect_to("releases", question.id)
    return visit.render("waiting.html", **_progress_context(visit, question))


def show_progress(visit: Visit) -> Response:
    """Answer with the status of a question as a page fragment; redirect once the answer is released.

    Args:
        visit: Request, whose path names the question.
    """
    question = visit.services.questions.get(visit.principal, visit.path_params["question"])
    answer = visit.render("progress.html", **_progress_context(visit, question))
    if question.state is State.ANSWERED:
        answer.headers["HX-Redirect"] = f"/releases/{question.id}"
    return answer


def show_release(visit: Visit) -> Response:
    """Answer with the page of a released result: its picture, its summary, and a comparison with the synthetic table.

    Args:
        visit: Request, whose path names the release.
    """
    answer = visit.services.releases.get(visit.principal, visit.path_params["release"])
    question = redact_question(visit.principal, answer.asked_question)
    can_compare = is_comparable(answer)
    synthetic = (
        visit.services.synthetic.find(visit.principal, question.dataset, question.version) if can_compare else None
    )
    comparison = None if synthetic is None else _find_or_submit_comparison(visit, answer, synthetic)
    can_publish = answer.published_at is None and has_right(visit.principal, Right.PUBLISH, Subject(question.dataset))
    return visit.render(
        "release.html", asked=question, facts=answer.facts, published_at=answer.published_at, may_publish=can_publish,
        comparison=comparison, statement="" if synthetic is None else synthetic.statement,
        may_compare=NO_SYNTHETIC if can_compare else "", python=_python_example(question, visit.host),
        drawn=answer.is_drawn, picture_text=answer.picture_text,
    )  # fmt: skip


def show_figure(visit: Visit) -> Response:
    """Answer with the picture of a released result as a page fragment, which reloads until the picture is drawn.

    Args:
        visit: Request, whose path names the release.
    """
    answer = visit.services.releases.get(visit.principal, visit.path_params["release"])
    return visit.render(
        "figure.html",
        asked=redact_question(visit.principal, answer.asked_question),
        facts=answer.facts,
        drawn=answer.is_drawn,
        picture_text=answer.picture_text,
    )


def send_picture(visit: Visit) -> Response:
    """Answer with an answer's picture as a file to download.

    Args:
        visit: Request, whose path names the release.
    """
    return _respond_when_drawn(visit, lambda answer: download(to_standalone_svg(answer.svg), "image/svg+xml"))


def show_comparison(visit: Visit) -> Response:
    """Answer with the comparison of a released result with the synthetic table, as a page fragment.

    Args:
        visit: Request, whose path names the release.
    """
    answer, synthetic = _find_compared(visit)
    question = redact_question(visit.principal, answer.asked_question)

    def render_comparison(drawing: Drawing) -> Response:
        """Return the page fragment that compares a released result with the exact result on the synthetic table.

        Args:
            drawing: Rendered comparison with its verdict.
        """
        return visit.render(
            "comparison.html", asked=question, comparison=drawing, statement=synthetic.statement, may_compare=""
        )

    return PendingResponse(
        visit,
        visit.services.studio.submit(collect_comparison_inputs(answer), synthetic, visit.principal.name),
        render_comparison,
    )


def send_comparison_picture(visit: Visit) -> Response:
    """Answer with the picture that compares a released result with the synthetic table, as a file to download.

    Args:
        visit: Request, whose path names the release.
    """
    answer, synthetic = _find_compared(visit)
    future = visit.services.studio.submit(collect_comparison_inputs(answer), synthetic, visit.principal.name)
    return PendingResponse(visit, future, lambda picture: download(picture.svg, "image/svg+xml"))


def _find_compared(visit: Visit) -> tuple[Answer, SyntheticTable]:
    """Return the released result that the path names, and the synthetic table of its data set.

    Args:
        visit: Request.

    Raises:
        ProtocolError: there is no synthetic table, or the question has no curve (status 404).
    """
    answer = visit.services.releases.get(visit.principal, visit.path_params["release"])
    synthetic = visit.services.synthetic.find(
        visit.principal, answer.asked_question.dataset, answer.asked_question.version
    )
    if synthetic is None or not is_comparable(answer):
        raise ProtocolError(
            "comparison",
            "this answer cannot be compared:"
            " the dataset has no synthetic table, or its question has no curve; go back to the answer",
            404,
        )
    return answer, synthetic


def _find_or_submit_comparison(visit: Visit, answer: Answer, synthetic: SyntheticTable) -> Drawing | None:
    """Return a cached comparison, or queue it and return None.

    Args:
        visit: The request, whose principal has a limit of waiting drawings.
        answer: Answer that is compared.
        synthetic: Public table to compare it with.
    """
    inputs = collect_comparison_inputs(answer)
    studio = visit.services.studio
    drawing = studio.find(inputs, synthetic)
    with suppress(ProtocolError):  # the queue is full; the next request tries again
        if drawing is None:
            studio.submit(inputs, synthetic, visit.principal.name)
    return drawing


def export_release(visit: Visit) -> Response:
    """Answer with a released result as a file to download.

    Args:
        visit: Request, whose path names the release and the file's ending.
    """
    ending = visit.path_params["ending"]
    language = visit.read_language()
    if find_drawn_type(ending, language):
        stored = visit.services.releases.get(visit.principal, visit.path_params["release"])
        return _export_drawing(visit, [stored], ending, f"release-{stored.id[:12]}.{ending}")
    if ending in DRAWN_FORMATS:
        return _respond_when_drawn(visit, lambda stored: _download_answer(stored, ending, language))
    return _download_answer(
        visit.services.releases.get(visit.principal, visit.path_params["release"]), ending, language
    )


def _export_drawing(visit: Visit, releases: Sequence[Answer], form: str, name: str = "") -> Response:
    """Return a file that the renderer draws; the serving process itself does not draw.

    Args:
        visit: The request.
        releases: Answers to draw.
        form: Type of the file, such as ``svg``.
        name: Name of the file; if empty, a default.
    """

    def download_drawing(drawing: Drawing) -> Response:
        """Return a response with a rendered plot that browsers save as a file.

        Args:
            drawing: Rendered plot, as SVG text or as the file's bytes in Base64.
        """
        content = drawing.svg.encode() if form == "svg" else b64decode(drawing.file)
        return download(content, {**REQUESTED_MEDIA_TYPES, **TRANSLATED_MEDIA_TYPES}[form], name)

    return PendingResponse(
        visit,
        visit.services.studio.submit(
            collect_file_inputs(releases, form, visit.read_language()), None, visit.principal.name
        ),
        download_drawing,
    )


def show_combined(visit: Visit) -> Response:
    """Answer with the page on which released results of a project are chosen and drawn together.

    Args:
        visit: Request; the query names the chosen results.
    """
    project = visit.services.projects.get(visit.principal, visit.path_params["project"])
    answered = [
        redact_question(visit.principal, question)
        for question in visit.services.releases.all(visit.principal, project.name)
    ]
    chosen = _find_chosen(visit)
    error = ""
    if len(chosen) == 1 or len(chosen) > MOST_RELEASES_ON_A_PICTURE:
        error = f"Choose two to {MOST_RELEASES_ON_A_PICTURE} releases."
    elif len({_plot_axis(answer.asked_question.question) for answer in chosen}) > 1:
        error = "Choose releases of the same question type and column."
    ids = [answer.id for answer in chosen]
    return visit.render(
        "together.html", project=project, groups=_group_by_axis(answered), chosen=ids, wrong=error,
        address=urlencode([("of", id) for id in ids]),
    )  # fmt: skip


def _group_by_axis(answered: Sequence[AskedQuestion]) -> dict[str, list[AskedQuestion]]:
    """Group answered questions whose results fit on one plot; keys are the shortest purposes, larger groups come
    first.

    Args:
        answered: Answered questions of a project.
    """
    groups: dict[tuple[Any, ...], list[AskedQuestion]] = {}
    for question in answered:
        groups.setdefault(_plot_axis(question.question), []).append(question)
    ordered = sorted(groups.values(), key=len, reverse=True)
    return {min((question.purpose for question in group), key=len): group for group in ordered}


def _plot_axis(question: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the type of a question and the column on the x axis of its picture.

    Args:
        question: Question as JSON fields.

    Returns:
        Type, column and time column; None for a column that the question lacks.
    """
    return question["ask"], question.get("column"), question.get("time")


def send_combined_picture(visit: Visit) -> Response:
    """Answer with the joint picture of several released results, inline or as a download.

    Args:
        visit: Request; the query names the results, the path the ending.

    Raises:
        ProtocolError: the ending is not svg or png, or too few or too many results are named (status 404).
    """
    form = visit.path_params["ending"]
    chosen = _find_chosen(visit)
    if form not in ("svg", "png") or not 2 <= len(chosen) <= MOST_RELEASES_ON_A_PICTURE:
        raise ProtocolError(
            "picture",
            f"a joint picture has two to {MOST_RELEASES_ON_A_PICTURE} answers, as svg or png; choose them in "
            "the list of answers",
            404,
        )
    return _export_drawing(visit, chosen, form, f"releases.{form}" if visit.query.get("keep") else "")


def _find_chosen(visit: Visit) -> list[Answer]:
    """Return the releases that a URL names; the principal may see each of them.

    Args:
        visit: Request; the path names the project, the query the releases.

    Returns:
        Answers in the order of the query, each once; at most one more than fits on a picture.

    Raises:
        ProtocolError: a release does not exist, is hidden, or is of another project (status 404).
    """
    project = visit.services.projects.get(visit.principal, visit.path_params["project"])
    ids = list(dict.fromkeys(visit.query.get("of", ())))[: MOST_RELEASES_ON_A_PICTURE + 1]
    answers = [visit.services.releases.get(visit.principal, id) for id in ids]
    if any(answer.asked_question.project != project.name for answer in answers):
        raise not_found("release")
    return answers


def _respond_when_drawn(visit: Visit, respond: Callable[[Answer], Response]) -> Response:
    """Respond with a drawn answer, or with status `NOT_DRAWN` if the client must try again.

    Args:
        visit: The request; its path names the answer.
        respond: Function that makes the response from a drawn answer.
    """
    releases = visit.services.releases
    id = visit.path_params["release"]
    answer = (releases.get_with_drawing if visit.has_waited else releases.get)(visit.principal, id)
    return respond(answer) if answer.is_drawn else Response(status_code=NOT_DRAWN)


def _download_answer(answer: Answer, ending: str, language: str) -> Response:
    """Return a released result as a file to download, without drawing anything.

    Args:
        answer: The result, with its stored drawing.
        ending: html, txt, svg, csv or json.
        language: Language of the text file.

    Raises:
        ProtocolError: the ending is not in this list (status 404).
    """
    name = f"release-{answer.id[:12]}"
    if ending == "html":
        page = render_page(answer.load_curve(), answer.svg)
        return download(page, "text/html", f"{name}.html")
    if ending == "txt":
        return download(render_statement(answer.load_curve(), language), "text/plain", f"{name}.txt")
    formats = {
        "svg": (to_standalone_svg(answer.svg), "image/svg+xml"),
        "csv": (answer.csv, "text/csv"),
        "json": (answer.json, "application/json"),
    }
    if ending not in formats:
        raise ProtocolError(
            "export", "no file of this type is offered; choose svg, png, pdf, csv, xlsx, json, html or txt", 404
        )
    return download(*formats[ending], f"{name}.{ending}")


def publish_release(visit: Visit) -> Response:
    """Publish a release to all who may list the datasets.

    Args:
        visit: Request, whose path names the release.

    Raises:
        ProtocolError: the person may not publish the release.
    """
    visit.services.releases.publish(visit.principal, visit.path_params["release"])
    return redirect_to("releases", visit.path_params["release"], message="published")


def _progress_context(visit: Visit, asked: AskedQuestion) -> dict[str, Any]:
    """Return the template context of a question's status, with the number of questions before it.

    Args:
        visit: Request of a signed-in person.
        asked: Question whose status is shown.

    Returns:
        Values by the names that the template uses; 0 questions before an answered or refused question.
    """
    waits = asked.state not in (State.ANSWERED, State.REFUSED)
    before = visit.services.questions.count_before(visit.principal, asked) if waits else 0
    return {"question": redact_question(visit.principal, asked), "waits": waits, "before": before}


def _python_example(asked: AskedQuestion, host: str) -> str:
    """Return Python code that asks this question again at no cost.

    Args:
        asked: Question that was asked before.
        host: Address of the server.
    """
    code = write_question_code(question_from_json(asked.question), column=len("question = "))
    return "\n".join(
        [
            "import dpcurves as dp",
            *code.imports,
            "",
            f'remote = dp.Remote("{host}", token="...")  # of your project; ca="cert.pem" if no authority signed it',
            f"question = {code.expression}",
            f"curve = remote.ask(question, {write_loss_code(asked.loss)})  # asked before: costs nothing more",
            "",
        ]
    )
