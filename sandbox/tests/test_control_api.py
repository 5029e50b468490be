"""The control routes, on the sandbox's own port only."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from harness.wait import wait_until
from sandbox.tests.notes.notes_client import me
from workspace_sandbox import APPLICATIONS, EMULATORS, Sandbox
from workspace_sandbox.control_api import parse_knobs
from workspace_sandbox.in_process_sandbox import run_sandbox


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/_control/notes/act"), ("PUT", "/nope")])
def test_an_unknown_path_is_rejected_with_a_hint(sandbox: Sandbox, method: str, path: str) -> None:
    response = httpx.request(method, f"{sandbox.address}{path}")

    assert 404 == response.status_code
    assert response.json()["error"].startswith(f"No control route is {method} {path}. This port controls the emulators")


def test_the_request_log_is_listed_and_cleared(sandbox: Sandbox, control: httpx.Client) -> None:
    me(sandbox)

    requests = control.get("/notes/requests").json()
    control.delete("/notes/requests")

    assert [("GET", "/v1/users/me", 200)] == [
        (request["method"], request["path"], request["status"]) for request in requests
    ]
    assert [] == control.get("/notes/requests").json()


def test_responses_end_with_a_newline(control: httpx.Client) -> None:
    texts = [control.get(path).text for path in ("/_control/clock", "/_control/nobody/requests")]

    assert ["}\n", "}\n"] == [text[-2:] for text in texts]


def test_faults_are_cleared(sandbox: Sandbox, control: httpx.Client) -> None:
    control.post("/notes/faults", json={"times": 5, "fault": "drop_before"})
    control.delete("/notes/faults")

    assert 200 == me(sandbox).status_code


def test_a_delayed_request_continues_when_faults_are_cleared(sandbox: Sandbox, control: httpx.Client) -> None:
    control.post("/notes/faults", json={"fault": "delay", "seconds": 600})
    with ThreadPoolExecutor() as pool:
        delayed = pool.submit(me, sandbox)
        wait_until(lambda: sandbox.emulators["notes"].context.requests_in_progress == 1)
        control.delete("/notes/faults")

        assert 200 == delayed.result(60).status_code
    assert 0 == sandbox.emulators["notes"].context.requests_in_progress


def test_a_dropped_connection_is_logged_without_a_status(sandbox: Sandbox, control: httpx.Client) -> None:
    control.post("/notes/faults", json={"fault": "drop_before"})

    with pytest.raises(httpx.TransportError):
        me(sandbox)

    assert [None] == [request["status"] for request in control.get("/notes/requests").json()]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/reset", {}),
        ("POST", "/clock", {"machine": True}),
        ("POST", "/load", {"name": "room"}),
        ("DELETE", "/notes/faults", {}),
    ],
    ids=str,
)
def test_resetting_limits_notifies_the_released_callback(
    sandbox: Sandbox, control: httpx.Client, method: str, path: str, body: dict[str, object]
) -> None:
    control.post("/save", json={"name": "room"})
    notified: list[str] = []
    sandbox.released = lambda: notified.append(path)

    control.request(method, path, json=body)

    assert [path] == notified


def test_an_unknown_knob_is_rejected_with_the_available_knobs(control: httpx.Client) -> None:
    reply = control.post("/notes/knobs", json={"volume": 11})

    assert 400 == reply.status_code
    assert "limits" in reply.json()["error"]


@pytest.mark.parametrize(
    ("name", "knob", "value", "expected"),
    [
        ("notes", "row_cap", "many", "row_cap must be a non-negative integer."),
        ("notes", "limits", 1, "limits must be true or false."),
        ("notes", "token_seconds", -1, "token_seconds must be a non-negative number, or null."),
        ("notes", "next_create", "530", "next_create cannot be '530'; "),
        ("notes", "webhook_retry_seconds", [1, "x"], "webhook_retry_seconds must be a list of non-negative numbers."),
        ("mail", "redirect_uris", "https://a.test", "redirect_uris must be a list of strings."),
        ("mail", "force", "fire", "force cannot be 'fire'; "),
    ],
    ids=str,
)
def test_invalid_knob_values_are_rejected(
    control: httpx.Client, name: str, knob: str, value: object, expected: str
) -> None:
    reply = control.post(f"/{name}/knobs", json={knob: value})

    assert 400 == reply.status_code
    assert reply.json()["error"].startswith(expected)


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_default_is_valid_for_its_knob(name: str) -> None:
    emulator = EMULATORS[name]

    assert dict(emulator.knobs) == parse_knobs(emulator.knobs, emulator.knobs, emulator.knob_readers)
    assert emulator.knob_readers.keys() <= emulator.knobs.keys()


def test_an_unknown_emulator_is_rejected_with_the_available_emulators(control: httpx.Client) -> None:
    reply = control.get("/calendar/requests")

    assert 404 == reply.status_code
    assert "notes, boards" in reply.json()["error"]


@pytest.mark.parametrize("field", ["attachments", "labels"])
@pytest.mark.parametrize("value", ["x", [1], {"a": []}], ids=str)
def test_a_user_action_with_an_invalid_list_is_rejected(field: str, value: object) -> None:
    action = {"action": "receive", "from": "a@b.test", "subject": "s", "body_html": "b", field: value}
    with run_sandbox("mail") as mail, httpx.Client(base_url=f"{mail.url}/_control") as control:
        reply = control.post("/mail/act", json=action)

    assert 422 == reply.status_code
    assert reply.json()["error"].startswith(f"ValueError: {field} must be a list of ")
