"""Pages and forms of the console agree with the management routes."""

import re
from pathlib import Path

import pytest

from connector_gateway.core.history.runs import Run
from connector_gateway.kit.errors import UpstreamRefused
from connector_gateway.kit.events import Observation
from connector_gateway.kit.identifiers import ConnectionId
from harness.core_fixture import Failure, FakeUpstream, connectors
from harness.gateway_server import Gateway, run_gateway
from harness.html_browser import Browser, HtmlPage
from harness.requirement import requirement
from workspace_sandbox.sandbox import Sandbox

PAGES = ["", "/workspaces", "/keys", "/connections", "/webhooks", "/runs", "/budgets", "/audit", "/operators"]
FORMS = [
    *("/workspaces/create", "/keys/create", "/webhooks/create", "/operators/create"),
    *(
        "/connections/new?connector=notes",
        "/connections/create?connector=notes",
        "/connections/connect?connector=notes",
    ),
]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_one_heading_a_title_and_its_place_in_the_navigation(operator: Browser, path: str) -> None:
    page = operator.open(f"/console{path}")
    here = page.one("[aria-current=page]")

    assert 200 == page.status
    assert (1, True) == (len(page.html.select("h1")), page.one("title").text.endswith(" · Connector gateway"))
    assert f"/console{path}" == here["href"]


@pytest.mark.parametrize("path", [*PAGES, *FORMS])
def test_every_field_has_a_label_and_every_list_its_headings(operator: Browser, path: str) -> None:
    page = operator.open(f"/console{path}").html
    fields = [str(one.get("id")) for one in page.select("input:not([type=hidden], [hidden]), select, textarea")]
    labels = [str(one["for"]) for one in page.select("label")]

    assert sorted(fields) == sorted(labels)
    assert len(fields) == len(set(fields))
    assert len(page.select("table")) == len(page.select("table > caption"))
    assert len(page.select("thead th")) == len(page.select("thead th[scope=col]"))


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_nothing_and_is_not_cached(operator: Browser, path: str) -> None:
    headers = operator.open(f"/console{path}").response.headers
    rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))

    assert "'none'" == rules["default-src"]
    assert {"'none'", "'self'"} == set(rules.values())
    assert ("no-store", "nosniff") == (headers["cache-control"], headers["x-content-type-options"])


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_no_style_and_no_script_of_its_own(operator: Browser, path: str) -> None:
    page = operator.open(f"/console{path}").html
    loaded = [str(one.get("src", "")) for one in page.select("script, img")]

    assert [] == page.select("style, [style], [onclick], [onload]")
    assert {"/assets"} == {address.rpartition("/")[0] for address in loaded}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "/runs?foo=bar",
            "Unknown filters: foo. Remove them from the URL. Allowed filters: workspace_id, connection_id,",
        ),
        ("/runs?statsu=ok", "Unknown filters: statsu. Did you mean status?"),
        ("/workspaces?plan=free", "Unknown filters: plan. Remove them from the URL. Allowed filters: search."),
    ],
)
def test_an_unknown_filter_is_reported_with_the_allowed_ones(operator: Browser, path: str, message: str) -> None:
    page = operator.open(f"/console{path}")

    assert (422, True) == (page.status, page.alert.startswith(message))
    assert ([], []) == (page.html.select("table"), page.html.select(".empty"))


def test_an_unknown_page_is_reported_with_the_navigation_and_the_closest_page(operator: Browser) -> None:
    operator.http.headers["Accept"] = "text/html"
    page = operator.open("/console/connection")

    assert (404, "Page not found") == (page.status, page.heading)
    assert page.link("/console/connections") == page.link("Connections")


def test_a_mistyped_path_links_to_the_front_page_of_the_console(gateway: Gateway) -> None:
    reply = gateway.request("GET", "/consol")

    assert [{"did_you_mean": "GET /console"}] == reply.facts


# Workspaces


def test_a_workspace_is_created_renamed_and_changes_its_plan(operator: Browser, gateway: Gateway) -> None:
    created = operator.submit(operator.open("/console/workspaces/create"), "Create workspace", name="Acme", plan="free")
    changed = operator.submit(operator.open(created.link("Change")), "Save", name="Acme Ltd", plan="paid")
    workspace_id = changed.path.partition("?")[0].rpartition("/")[2]
    (stored,) = [
        one for one in gateway.operator("GET", "/v1/workspaces?limit=200").data if one["workspace_id"] == workspace_id
    ]

    assert ("Acme", "Acme Ltd") == (created.heading, changed.heading)
    assert "The changes were saved." in changed.text
    assert ("Acme Ltd", "paid") == (stored["name"], stored["plan"])


@pytest.mark.parametrize(
    ("name", "message"), [("", "Field required"), ("x" * 201, "at most 200"), ("a\x01b", "control characters")]
)
def test_an_invalid_name_is_reported_next_to_its_input(operator: Browser, name: str, message: str) -> None:
    page = operator.submit(operator.open("/console/workspaces/create"), "Create workspace", name=name, plan="paid")
    field = page.one("#f-name")

    assert (422, "Invalid fields: Name. Correct the marked fields and submit the form again.") == (
        page.status,
        page.alert,
    )
    assert ("true", True) == (field["aria-invalid"], message in page.one("#f-name-error").text)
    assert ["f-name-hint", "f-name-error"] == str(field["aria-describedby"]).split()
    assert "paid" == page.one("#f-plan option[selected]").text


def test_a_search_matches_a_part_of_a_workspace_name(operator: Browser) -> None:
    operator.submit(operator.open("/console/workspaces/create"), "Create workspace", name="Needle & Thread")
    results = operator.open("/console/workspaces", search="dle & th")
    none = operator.open("/console/workspaces", search="no such name")

    assert {"Needle & Thread"} == {row[0] for row in results.rows()}
    assert "No matches." in none.text


def test_workspaces_are_paginated_with_and_without_a_search(operator: Browser, gateway: Gateway) -> None:
    created = [
        gateway.operator("POST", "/v1/workspaces", json={"name": f"Paged {n}", "plan": "free"}).data for n in range(51)
    ]
    newest, matches = operator.open("/console/workspaces"), operator.open("/console/workspaces", search="PAGED")
    older = [operator.open(page.link("Older")) for page in (newest, matches)]
    back = operator.open(older[1].link("Newest"))

    assert [50, 50] == [len(page.rows()) for page in (newest, matches)]
    assert [created[0]["name"]] * 2 == [page.rows()[0][0] for page in older]
    assert ([["Paged 50"], ["Paged 0"]], "PAGED") == (
        [matches.rows()[0][:1], older[1].rows()[-1][:1]],
        back.one("form.row input")["value"],
    )


def test_a_workspace_lists_its_keys_and_connections(operator: Browser, gateway: Gateway) -> None:
    page = operator.open(f"/console/workspaces/{gateway.workspace_id}")

    assert {gateway.connections["notes"], gateway.connections["shelf"]} <= {row[0] for row in page.rows("#connections")}
    assert f"…{gateway.key[-4:]}" in [row[1] for row in page.rows("#keys")]


def test_an_unknown_workspace_is_reported_with_its_code(operator: Browser) -> None:
    page = operator.open("/console/workspaces/ws_x")

    assert (404, "Request failed") == (page.status, page.heading)
    assert page.link("About workspace_not_found").endswith("/docs/errors/workspace_not_found")


# Keys


def test_a_key_is_displayed_once_works_and_records_its_use(operator: Browser, gateway: Gateway) -> None:
    form = operator.open(operator.open(f"/console/workspaces/{gateway.workspace_id}").link("Create a key"))
    created = operator.submit(form, "Create key", name="for the shop", scope="read", expires_at="2099-01-01T10:00")
    key = created.one("#key").text
    before = operator.open("/console/keys", workspace_id=gateway.workspace_id)
    status = gateway.request("GET", "/v1/connections", headers={"Authorization": f"Bearer {key}"}).status
    after = operator.open("/console/keys", workspace_id=gateway.workspace_id)
    (row_before,), (row_after,) = ([row for row in page.rows() if row[0] == "for the shop"] for page in (before, after))

    assert (200, "no-store") == (status, created.response.headers["cache-control"])
    assert [] == [page for page in (before, after) if key in page.response.text]
    assert [f"…{key[-4:]}", "read", "120"] == row_before[1:4]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", row_after[4])
    assert "2099-01-01 10:00:00" == row_after[5]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"manages_connections": "true"}, ["Manages connections", "yes"]),
        ({"mentions": "neutralise"}, ["Mentions", "neutralise"]),
        ({"operations": "notes_read_*\n shelf_* "}, ["Operations", "notes_read_* , shelf_*"]),
    ],
)
def test_a_key_is_limited_by_its_options(
    operator: Browser, gateway: Gateway, fields: dict[str, str], expected: list[str]
) -> None:
    created = operator.submit(
        operator.open("/console/keys/create"), "Create key", name="limited", workspace_id=gateway.workspace_id, **fields
    )
    facts = operator.open(created.link("Done")).one("#facts")
    names, values = ([one.get_text(" ", strip=True) for one in facts.select(kind)] for kind in ("dt", "dd"))

    assert expected in [list(fact) for fact in zip(names, values, strict=True)]


def test_a_key_is_revoked_after_confirmation(operator: Browser, gateway: Gateway) -> None:
    key = gateway.operator("POST", "/v1/keys", json={"workspace_id": gateway.workspace_id, "scope": "read"}).data
    confirmation = operator.open(f"/console/keys/{key['key_id']}/revoke")
    still = gateway.request("GET", "/v1/connections", headers={"Authorization": f"Bearer {key['key']}"}).status
    done = operator.submit(confirmation, "Revoke key")
    gone = gateway.request("GET", "/v1/connections", headers={"Authorization": f"Bearer {key['key']}"}).status

    assert (200, 401) == (still, gone)
    assert "The key is revoked." in done.text
    assert "fail within five seconds" in confirmation.text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("workspace_id", "ws_x"),
        ("calls_per_minute", "many"),
        ("calls_per_minute", "\u0661"),
        ("scope", "everything"),
        ("expires_at", "tomorrow"),
    ],
)
def test_an_invalid_key_is_not_created_and_its_field_is_marked(
    operator: Browser, gateway: Gateway, field: str, value: str
) -> None:
    fields = {"workspace_id": gateway.workspace_id, field: value}
    page = operator.submit(operator.open("/console/keys/create"), "Create key", **fields)
    marked = [str(one["name"]) for one in page.html.select("[aria-invalid=true]")]

    assert page.status in {404, 422}
    assert ([field], []) == (marked, page.html.select("#key"))


@pytest.mark.parametrize(
    "path", ["/keys/key_x/revoke", "/connections/conn_x", "/connections/conn_x/events", "/runs/x", "/webhooks/x"]
)
def test_an_unknown_object_returns_404(operator: Browser, path: str) -> None:
    page = operator.open(f"/console{path}")

    assert (404, "Request failed") == (page.status, page.heading)


# Connections and what was observed


def test_connections_are_listed_by_vendor_with_their_status(operator: Browser, gateway: Gateway) -> None:
    rows = operator.open("/console/connections", connector="notes").rows()

    assert {"Notion"} == {row[1] for row in rows}
    assert gateway.connections["notes"] in [row[0] for row in rows]
    assert "active" in [row[3] for row in rows]


def test_a_connection_lists_its_recent_calls_and_links_to_its_events(operator: Browser, gateway: Gateway) -> None:
    reply = gateway.get("/notes/databases")
    page = operator.open(f"/console/connections/{gateway.connections['notes']}")
    (row, *_) = page.rows("#runs")

    assert page.link("List databases").endswith(reply.body["run_id"])
    assert ("List databases notes, http", "ok") == (row[0], row[1])
    assert page.link("Events").endswith("/events")
    assert "Events" not in operator.open(f"/console/connections/{gateway.connections['shelf']}").text


def test_a_connection_lists_signs_that_its_vendor_changes(operator: Browser, gateway: Gateway) -> None:
    listing = {"object": "list", "results": [], "has_more": False, "next_cursor": None}
    headers = {"Deprecation": "@1688169599", "Sunset": "Sunday, 31-Dec-28 23:59:59 GMT"}
    gateway.fault("notes", path="/v1/search", fault="status", status=200, headers=headers, body=listing)
    gateway.get("/notes/databases", limit=1)

    rows = operator.open(f"/console/connections/{gateway.connections['notes']}").rows("#changes")

    assert [
        ["deprecation", "POST /v1/search", "2023-06-30", "1"],
        ["sunset", "POST /v1/search", "2028-12-31", "1"],
    ] == sorted(list(row[:4]) for row in rows)


def test_a_connection_displays_rejected_deliveries(operator: Browser, gateway: Gateway) -> None:
    connection_id = gateway.connections["notes"]
    gateway.run(gateway.app._watches.record_rejection([connection_id], 0.0, "It was signed too long ago."))
    page = operator.open(f"/console/connections/{connection_id}").text
    gateway.run(gateway.app._watches.clear_rejection([connection_id]))

    assert "It was signed too long ago." in page


def test_events_are_listed_newest_first_page_by_page(operator: Browser, gateway: Gateway) -> None:
    connection_id = ConnectionId(gateway.connections["notes"])
    seen = [Observation((str(number),), "page.created", {"page_id": f"p{number}"}) for number in range(53)]
    gateway.run(gateway.app._feed.add({connection_id: seen}))
    first = operator.open(f"/console/connections/{connection_id}/events")
    second = operator.open(first.link("Older events"))

    assert [f"page_id p{number}" for number in range(52, 2, -1)] == [row[2] for row in first.rows()]
    assert ["page_id p2", "page_id p1", "page_id p0"] == [row[2] for row in second.rows()]


@pytest.mark.parametrize("before", ["x", "-1", "9" * 30])
def test_events_are_not_listed_from_an_invalid_cursor(operator: Browser, gateway: Gateway, before: str) -> None:
    page = operator.open(f"/console/connections/{gateway.connections['notes']}/events", before=before)

    assert page.status in {400, 422}


def test_connections_are_paginated_with_their_filters(operator: Browser, gateway: Gateway) -> None:
    workspace_id = gateway.operator("POST", "/v1/workspaces", json={"name": "Large"}).data["workspace_id"]
    body = {"workspace_id": workspace_id, "connector": "shelf", "credentials": {"token": "shelf-token-1"}}
    created = [gateway.operator("POST", "/v1/connections", json=body).data["connection_id"] for _ in range(52)]
    address = operator.open(f"/console/workspaces/{workspace_id}").link("All connections of this workspace")
    first = operator.open(address)
    second = operator.open(first.link("Older"))
    listed = [
        str(link["href"]).rpartition("/")[2]
        for page in (first, second)
        for link in page.html.select("td a[href*='/connections/']")
    ]

    assert created[::-1] == list(dict.fromkeys(listed))
    assert workspace_id == second.one("#workspace-id option[selected]")["value"]
    assert second.link("Newest").endswith(f"?workspace_id={workspace_id}")


def test_a_connection_is_disconnected_after_confirmation(operator: Browser, gateway: Gateway) -> None:
    body = {
        "workspace_id": gateway.workspace_id,
        "connector": "shelf",
        "credentials": {"token": "shelf-token-1"},
        "name": "Gone",
    }
    connection = gateway.operator("POST", "/v1/connections", json=body).data
    confirmation = operator.open(f"/console/connections/{connection['connection_id']}/remove")
    done = operator.submit(confirmation, "Remove connection")

    assert "Remove connection: Gone" == confirmation.heading
    assert "The connection is removed." in done.text
    assert 404 == gateway.operator("GET", f"/v1/connections/{connection['connection_id']}").status


# Runs


@requirement("common-118")
def test_runs_are_filtered_and_link_to_their_page(operator: Browser, gateway: Gateway, shelf: FakeUpstream) -> None:
    shelf.troubles.append(Failure(UpstreamRefused("No.")))
    reply = gateway.post("/shelf/things", name="one")
    page = operator.open("/console/runs", status="error", connector="shelf", operation="put_thing")
    run = operator.open(page.link("Put thing"))

    assert {"error upstream_refused"} == {row[1] for row in page.rows()}
    assert ("Put thing error", True) == (run.heading, reply.body["run_id"] in run.text)
    assert run.link("upstream_refused").endswith("/docs/errors/upstream_refused")


def test_the_filters_retain_their_values(operator: Browser) -> None:
    page = operator.open("/console/runs", status="partial", connector="notes", workspace_id="ws_x")

    chosen = [one.text for one in page.html.select("option[selected]")]
    assert ["ws_x", "Notion", "partial"] == chosen
    assert "No matches." in page.text


@pytest.mark.parametrize(("name", "value"), [("status", "no-such-status"), ("status", "OK"), ("operation", "nope")])
def test_an_invalid_filter_is_reported(operator: Browser, name: str, value: str) -> None:
    page = operator.open("/console/runs", **{name: value})

    assert (422, name) == (page.status, page.one("[aria-invalid=true]")["name"])


def test_runs_are_paginated_with_their_filters(operator: Browser, gateway: Gateway) -> None:
    run_ids = [gateway.get("/shelf/things").body["run_id"] for _ in range(53)]
    first = operator.open("/console/runs", connector="shelf", operation="list_things", status="ok")
    second = operator.open(first.link("Older"))
    listed = [
        str(link["href"]).rpartition("/")[2]
        for page in (first, second)
        for link in page.html.select("td a[href*='/runs/']")
    ]

    assert run_ids[::-1] == listed[:53]
    assert "ok" == second.one("#status option[selected]").text
    assert second.link("Newest").endswith("connector=shelf&operation=list_things&status=ok")


def test_a_cursor_is_valid_only_with_its_filters(operator: Browser, gateway: Gateway) -> None:
    gateway.together(*[lambda: gateway.get("/shelf/things")] * 51)
    older = operator.open("/console/runs", connector="shelf").link("Older")
    page = operator.open(older.replace("connector=shelf", "connector=notes"))

    assert (422, True) == (page.status, page.alert.startswith("The cursor was not issued for this request."))


def test_a_run_displays_its_requests_on_a_time_axis(operator: Browser, gateway: Gateway) -> None:
    reply = gateway.get("/notes/databases")
    record = gateway.operator("GET", f"/v1/runs/{reply.body['run_id']}").data
    page = operator.open(f"/console/runs/{reply.body['run_id']}")
    bars = page.html.select("svg.bar")

    assert [f"{one['method']} {one['path']}" for one in record["upstream"]] == [
        row[0] for row in page.rows(".timeline")
    ]
    assert ["200"] * len(bars) == [row[1] for row in page.rows(".timeline")]
    assert all(str(bar["aria-label"]).startswith("queued at ") for bar in bars)
    assert [True] * len(bars) == [
        float(str(one["x"])) + float(str(one["width"])) <= 1000 for bar in bars for one in bar.select("rect.sent")
    ]


def test_a_dry_run_is_marked_on_its_page_and_in_the_list(operator: Browser, gateway: Gateway) -> None:
    arguments = {"database_id": gateway.examples("notes")["database_id"], "properties": {}}
    reply = gateway.post("/notes/pages", headers={"Prefer": "dry-run"}, **arguments)
    page, listed = operator.open(f"/console/runs/{reply.body['run_id']}"), operator.open("/console/runs")

    assert (True, True) == ("Nothing was written" in page.html.text, ", dry run" in listed.html.text)


def test_a_failed_delivery_is_reported_and_links_to_its_webhook(operator: Browser, gateway: Gateway) -> None:
    webhook_id = "wh_" + 26 * "0"
    run = Run("webhook", status="error", code="delivery_failed", details=[{"webhook_id": webhook_id}])
    recording = gateway.app.runs.record(run, gateway.workspace_id, "notes", "deliver_events", connection_id=None)
    gateway.run(recording.close())
    page = operator.open(f"/console/runs/{run.run_id}")

    assert "The webhook did not accept an event." in page.text
    assert "Requests to the webhook" in page.text
    assert 1 == len(page.html.select(f".notice a[href='/console/webhooks/{webhook_id}']"))


def test_only_documented_codes_link_to_their_page(operator: Browser, gateway: Gateway) -> None:
    rejected = gateway.get("/notes/databases", limit=0).body["run_id"]
    run, connection = Run("watch", status="partial", code="events_missed"), gateway.connections["notes"]
    recording = gateway.app.runs.record(run, gateway.workspace_id, "notes", "observe_events", connection_id=connection)
    gateway.run(recording.close())
    pages = [operator.open(f"/console/runs/{run_id}").html for run_id in (rejected, run.run_id)]

    assert [1, 0] == [len(page.select("a[href*='/docs/errors/']")) for page in pages]
    assert "events_missed" in pages[1].text


@requirement("administration-20")
def test_a_lost_response_is_reported_on_the_page_of_its_run(operator: Browser, gateway: Gateway) -> None:
    gateway.fault("notes", method="POST", path="/v1/pages", fault="drop_after", times=1)
    arguments = {"database_id": gateway.examples("notes")["database_id"], "properties": {}}
    reply = gateway.post("/notes/pages", **arguments, idempotency_key="lost on the way")
    page = operator.open(f"/console/runs/{reply.body['run_id']}")

    assert (200, "ok") == (reply.status, page.one("h1 .mark").text)
    assert "The response was lost; the page was found; nothing was sent twice." == page.one(".notice").text.strip()
    assert "Key lost on the way . This was the first call with the key." in page.text


@requirement("administration-20")
def test_a_key_reused_with_other_parameters_is_reported(operator: Browser, gateway: Gateway) -> None:
    arguments = {"database_id": gateway.examples("notes")["database_id"], "idempotency_key": "other parameters"}
    first = gateway.post("/notes/pages", **arguments, properties={}).body["run_id"]
    reply = gateway.post("/notes/pages", **arguments, properties={"Name": "Other"})
    page = operator.open(f"/console/runs/{reply.body['run_id']}")

    assert "The parameters of this call differ from it and were ignored" in page.one(".notice.warn").text
    assert page.link("The first call").endswith(first)


@requirement("administration-20")
def test_an_error_is_reported_with_its_details_and_remedy(operator: Browser, gateway: Gateway) -> None:
    named = gateway.with_key("read_write", name="Shop")
    page = operator.open(f"/console/runs/{named.get('/notes/databases', limit='many').body['run_id']}")
    notice = " ".join(page.one(".notice.bad").get_text(" ").split())

    assert "One or more parameters are missing, unknown or invalid. parameter limit" in notice
    assert "For the caller: Correct the parameters listed in details." in notice
    assert "http, with the key Shop" in page.text


@requirement("administration-20")
def test_a_run_through_a_revoked_connection_links_to_reconnecting(operator: Browser, gateway: Gateway) -> None:
    gateway.revoke("notes")
    reply = gateway.get("/notes/databases")
    page = operator.open(f"/console/runs/{reply.body['run_id']}")
    gateway.authorise("notes")
    gateway.get("/notes/databases")

    assert "connection_revoked" == reply.code
    assert page.link("Connect again").endswith(f"{gateway.connections['notes']}/reconnect")


def test_a_rejected_request_is_drawn_as_failed(operator: Browser, gateway: Gateway) -> None:
    gateway.fault("notes", fault="status", status=400, times=1)
    reply = gateway.get("/notes/databases")
    page = operator.open(f"/console/runs/{reply.body['run_id']}")

    assert ("400", 1) == (page.rows(".timeline")[0][1], len(page.html.select("td rect.failed")))


# Budgets and the overview


def test_a_budget_displays_used_and_remaining_units(operator: Browser, gateway: Gateway) -> None:
    gateway.get("/notes/databases")
    page = operator.open("/console/budgets")
    card = page.one("article[aria-labelledby^=h-notes-integration]")
    charts = [str(chart["aria-label"]) for chart in card.select("svg[role=img]")]

    assert "notes: integration" == card.select("h3")[0].text
    assert re.fullmatch(r"\d+ used, \d+ left", charts[0])
    assert re.fullmatch(r"The last 5 minutes: \d+ sent, at most \d+ queued", charts[1])
    assert gateway.connections["notes"] in card.text


def test_the_overview_displays_totals_and_recent_failures(operator: Browser, gateway: Gateway) -> None:
    reply = gateway.get("/shelf/things", limit="many")
    page = operator.open("/console")
    workspaces = len(gateway.operator("GET", "/v1/workspaces?limit=200").data)
    connections = len(gateway.operator("GET", "/v1/connections?limit=200").data)

    assert [str(workspaces), str(connections)] == [one.text for one in page.html.select(".figures strong")[:2]]
    assert "error invalid_parameters" == page.rows("#failed")[0][1]
    assert str(page.one("#failed tbody tr:first-child a[href*='/runs/']")["href"]).endswith(reply.body["run_id"])


@requirement("administration-22")
def test_the_first_steps_are_listed_until_all_are_done(tmp_path: Path) -> None:
    with run_gateway(Sandbox({}), tmp_path, connectors=connectors(FakeUpstream())) as gateway:
        browser = Browser(gateway)
        overview = browser.sign_in()
        connection = gateway.run(
            gateway.app.connections.create(gateway.workspace_id, "shelf", {"token": "shelf-token-1"})
        )
        before_call = browser.open("/console")
        gateway.get("/shelf/things", connection_id=connection["connection_id"])
        after = browser.open("/console")

    assert [["Create a workspace", "Create a key"], [], "Connect an account"] == [
        steps_done(overview),
        steps_done(after),
        overview.one(".steps a").text,
    ]
    assert "Make a first call" == before_call.one(".steps a").text


def steps_done(page: HtmlPage) -> list[str]:
    return [one.select("span")[0].text for one in page.html.select(".steps .done")]


def test_an_internal_error_is_an_error_page(
    operator: Browser, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway.app._usage, "list", None)
    page = operator.open("/console/budgets")

    assert (500, True) == (page.status, page.alert.startswith("Internal error."))
    assert "NoneType" not in page.response.text


def test_unavailable_storage_is_an_error_page(
    operator: Browser, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway.app.database, "_seconds", 0.0)
    page = operator.open("/console")

    assert (503, "Request failed") == (page.status, page.heading)
    assert page.link("About storage_unavailable").endswith("/docs/errors/storage_unavailable")
