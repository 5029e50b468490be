"""The control routes, on the sandbox's own port only."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from harness.wait import wait_until
from sandbox.tests.notes.asking import me
from workspace_sandbox import APPLICATIONS, EMULATORS, Sandbox
from workspace_sandbox.kit.knobs import parse_knobs
from workspace_sandbox.runner import run_sandbox


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/_control/notes/act"), ("PUT", "/nope")])
def test_whoever_asks_for_something_else_is_told_what_there_is(sandbox: Sandbox, method: str, path: str) -> None:
    answer = httpx.request(method, f"{sandbox.address}{path}")

    assert 404 == answer.status_code
    assert answer.json()["error"].startswith(f"There is nothing at {method} {path}. This port steers the stand-ins")


def test_the_journal_tells_what_arrived_and_is_cleared(sandbox: Sandbox, control: httpx.Client) -> None:
    me(sandbox)

    told = control.get("/notes/requests").json()
    control.delete("/notes/requests")

    assert [("GET", "/v1/users/me", 200)] == [(seen["method"], seen["path"], seen["status"]) for seen in told]
    assert [] == control.get("/notes/requests").json()


def test_responses_end_with_a_newline(control: httpx.Client) -> None:
    texts = [control.get(path).text for path in ("/_control/clock", "/_control/nobody/requests")]

    assert ["}\n", "}\n"] == [text[-2:] for text in texts]


def test_faults_are_cleared(sandbox: Sandbox, control: httpx.Client) -> None:
    control.post("/notes/faults", json={"times": 5, "fault": "drop_before"})
    control.delete("/notes/faults")

    assert 200 == me(sandbox).status_code


def test_a_request_that_a_fault_holds_up_goes_on_when_faults_are_cleared(
    sandbox: Sandbox, control: httpx.Client
) -> None:
    control.post("/notes/faults", json={"fault": "delay", "seconds": 600})
    with ThreadPoolExecutor() as pool:
        held_up = pool.submit(me, sandbox)
        wait_until(lambda: sandbox.emulators["notes"].context.requests_in_progress == 1)
        control.delete("/notes/faults")

        assert 200 == held_up.result(60).status_code
    assert 0 == sandbox.emulators["notes"].context.requests_in_progress


def test_a_cut_connection_is_in_the_journal_without_a_status(sandbox: Sandbox, control: httpx.Client) -> None:
    control.post("/notes/faults", json={"fault": "drop_before"})

    with pytest.raises(httpx.TransportError):
        me(sandbox)

    assert [None] == [seen["status"] for seen in control.get("/notes/requests").json()]


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
def test_what_gives_clients_room_again_is_made_known(
    sandbox: Sandbox, control: httpx.Client, method: str, path: str, body: dict[str, object]
) -> None:
    control.post("/save", json={"name": "room"})
    told: list[str] = []
    sandbox.released = lambda: told.append(path)

    control.request(method, path, json=body)

    assert [path] == told


def test_an_unknown_knob_is_refused_with_those_there_are(control: httpx.Client) -> None:
    reply = control.post("/notes/knobs", json={"volume": 11})

    assert 400 == reply.status_code
    assert "limits" in reply.json()["error"]


@pytest.mark.parametrize(
    ("name", "knob", "value", "told"),
    [
        ("notes", "row_cap", "many", "row_cap must be a whole number from 0 on."),
        ("notes", "limits", 1, "limits must be true or false."),
        ("notes", "token_seconds", -1, "token_seconds must be a number from 0 on, or null."),
        ("notes", "next_create", "530", "next_create is no '530'; "),
        ("notes", "webhook_retry_seconds", [1, "x"], "webhook_retry_seconds must be a list of numbers from 0 on."),
        ("mail", "redirect_uris", "https://a.test", "redirect_uris must be a list of texts."),
        ("mail", "force", "fire", "force is no 'fire'; "),
    ],
    ids=str,
)
def test_what_a_knob_does_not_take_is_refused(
    control: httpx.Client, name: str, knob: str, value: object, told: str
) -> None:
    reply = control.post(f"/{name}/knobs", json={knob: value})

    assert 400 == reply.status_code
    assert reply.json()["error"].startswith(told)


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_first_value_is_one_that_its_knob_takes(name: str) -> None:
    emulator = EMULATORS[name]

    assert dict(emulator.knobs) == parse_knobs(emulator.knobs, emulator.knobs, emulator.knob_readers)
    assert emulator.knob_readers.keys() <= emulator.knobs.keys()


def test_an_unknown_emulator_is_refused_with_those_there_are(control: httpx.Client) -> None:
    reply = control.get("/calendar/requests")

    assert 404 == reply.status_code
    assert "notes, boards" in reply.json()["error"]


@pytest.mark.parametrize("field", ["attachments", "labels"])
@pytest.mark.parametrize("value", ["x", [1], {"a": []}], ids=str)
def test_an_act_with_a_list_that_is_none_is_refused(field: str, value: object) -> None:
    letter = {"action": "receive", "from": "a@b.test", "subject": "s", "body_html": "b", field: value}
    with run_sandbox("mail") as mail, httpx.Client(base_url=f"{mail.url}/_control") as control:
        reply = control.post("/mail/act", json=letter)

    assert 422 == reply.status_code
    assert reply.json()["error"].startswith(f"ValueError: {field} must be a list of ")
