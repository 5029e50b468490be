"""Outcomes of calls, in sentences."""

from typing import Any

import pytest

from connector_gateway.connectors.notes import NOTES
from connector_gateway.core.run_explanations import explain_run
from connector_gateway.core.writes.idempotency_messages import different_parameters
from connector_gateway.kit.errors import all_errors
from connector_gateway.kit.errors.remedy_placeholders import resolve_remedy

INTERRUPTED = "The call was interrupted. Check in Notion whether it took effect,"


def build_run(**more: Any) -> dict[str, Any]:
    """Return a run that succeeded ordinarily, with *more* fields."""
    plain: dict[str, Any] = {
        "operation": "create_page",
        "surface": "http",
        "status": "ok",
        "code": None,
        "details": None,
        "upstream": [],
        "idempotency": None,
        "dry_run": False,
    }
    return plain | more


def build_requests(*statuses: int | None, path: str = "/v1/pages") -> list[dict[str, Any]]:
    return [{"method": "POST", "path": path, "status": status} for status in statuses]


@pytest.mark.parametrize(
    ("more", "tone", "sentence"),
    [
        (
            {"details": [{"found": "the page"}], "upstream": build_requests(None)},
            "good",
            "The response was lost; the page was found; nothing was sent twice.",
        ),
        (
            {"details": [{"found": "edit the page"}], "upstream": build_requests(502)},
            "good",
            "Notion returned 502, which proves nothing; its effect was found (edit the page); nothing was sent twice.",
        ),
        (
            {"details": [{"sent_again": "create the page"}], "upstream": build_requests(200)},
            "good",
            "The response to an earlier attempt was lost; no trace was found, so it was sent again: create the page.",
        ),
        (
            {"upstream": build_requests(503, 200)},
            "good",
            "Notion did not respond successfully the first time, and the request was repeated.",
        ),
        ({"dry_run": True}, "good", "Nothing was written: the call was a dry run."),
        (
            {"status": "partial"},
            "warn",
            "Part of the result is missing, or part of the work failed.",
        ),
        (
            {"idempotency": {"outcome": "replayed", "first_run_id": "run_1", "parameters_differ": True}},
            "warn",
            different_parameters("run_1"),
        ),
        (
            {"status": "interrupted", "upstream": build_requests(None)},
            "bad",
            f"{INTERRUPTED} or retry with the same idempotency key, which is safe.",
        ),
        ({"status": "interrupted"}, "bad", "The call was interrupted. Nothing was changed."),
        (
            {"status": "error", "code": "delivery_failed"},
            "bad",
            "The webhook did not accept an event. It is sent again until it is accepted.",
        ),
        ({"status": "error", "code": "events_missed"}, "bad", "The call failed with events_missed."),
    ],
)
def test_an_unusual_outcome_is_explained_in_a_sentence(more: dict[str, Any], tone: str, sentence: str) -> None:
    outcome = explain_run(build_run(**more), NOTES)

    assert outcome is not None
    assert (tone, [sentence]) == (outcome.tone, list(outcome.sentences))


@pytest.mark.parametrize("more", [{}, {"upstream": build_requests(200, 200)}, {"status": "running"}])
def test_an_ordinary_outcome_needs_no_explanation(more: dict[str, Any]) -> None:
    assert explain_run(build_run(**more), NOTES) is None


@pytest.mark.parametrize("error", list(all_errors()), ids=lambda error: error.code)
def test_every_error_is_explained_with_its_remedy(error: Any) -> None:
    outcome = explain_run(build_run(status="error", code=error.code, details=[{"done": "create the page"}]), NOTES)

    assert outcome is not None
    message, completed = outcome.sentences
    assert (True, "Done before the error: create the page.") == (message.endswith("."), completed)
    assert resolve_remedy(error, "http", [NOTES]) == outcome.remedy
