"""How calls ended, in sentences."""

from typing import Any

import pytest

from connector_gateway.connectors.notes import NOTES
from connector_gateway.core.calls.outcome_text import explain_run
from connector_gateway.core.calls.remedies import resolve_remedy
from connector_gateway.core.writes.key_outcomes import different_parameters
from connector_gateway.kit.errors import all_errors

CUT_OFF = "The call was cut off in the middle. Look in Notion whether it was done;"


def run(**more: Any) -> dict[str, Any]:
    """A run that did what was asked, with *more* said of it."""
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


def requests(*statuses: int | None, path: str = "/v1/pages") -> list[dict[str, Any]]:
    return [{"method": "POST", "path": path, "status": status} for status in statuses]


@pytest.mark.parametrize(
    ("more", "tone", "told"),
    [
        (
            {"details": [{"found": "the page"}], "upstream": requests(None)},
            "good",
            "The response was lost; the page was found; nothing was sent twice.",
        ),
        (
            {"details": [{"found": "change the page"}], "upstream": requests(502)},
            "good",
            "Notion answered 502, which proves nothing; it was found done (change the page); nothing was sent twice.",
        ),
        (
            {"details": [{"sent_again": "create the page"}], "upstream": requests(200)},
            "good",
            "The response to an earlier attempt was lost; nothing was found of it; it was sent again: create the page.",
        ),
        ({"upstream": requests(503, 200)}, "good", "Notion did not answer at once, and was asked again."),
        ({"dry_run": True}, "good", "Nothing was written: the call asked what would be written."),
        (
            {"status": "partial"},
            "warn",
            "A part of the result is missing, or a part of the work could not be done.",
        ),
        (
            {"idempotency": {"outcome": "replayed", "first_run_id": "run_1", "parameters_differ": True}},
            "warn",
            different_parameters("run_1"),
        ),
        (
            {"status": "interrupted", "upstream": requests(None)},
            "bad",
            f"{CUT_OFF} a repeat with the same idempotency key finds out by itself.",
        ),
        ({"status": "interrupted"}, "bad", "The call was cut off before it ended. Nothing was changed."),
        (
            {"status": "error", "code": "delivery_failed"},
            "bad",
            "The webhook did not accept an event. It is sent again until it is accepted.",
        ),
        ({"status": "error", "code": "events_missed"}, "bad", "It ended with events_missed."),
    ],
)
def test_an_unusual_end_is_told_in_a_sentence(more: dict[str, Any], tone: str, told: str) -> None:
    outcome = explain_run(run(**more), NOTES)

    assert outcome is not None
    assert (tone, [told]) == (outcome.tone, list(outcome.sentences))


@pytest.mark.parametrize("more", [{}, {"upstream": requests(200, 200)}, {"status": "running"}])
def test_of_what_went_as_usual_there_is_nothing_to_tell(more: dict[str, Any]) -> None:
    assert explain_run(run(**more), NOTES) is None


@pytest.mark.parametrize("error", list(all_errors()), ids=lambda error: error.code)
def test_every_error_is_told_with_its_remedy(error: Any) -> None:
    outcome = explain_run(run(status="error", code=error.code, details=[{"done": "create the page"}]), NOTES)

    assert outcome is not None
    said, stands = outcome.sentences
    assert (True, "Done before it failed: create the page.") == (said.endswith("."), stands)
    assert resolve_remedy(error, "http", [NOTES]) == outcome.remedy
