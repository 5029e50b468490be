"""Trello's stand-in over real HTTP, byte for byte where the vendor's bytes are known."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from requests_oauthlib import OAuth1Session  # type: ignore[import-untyped]

from connector_gateway.kit.clock import SystemClock
from harness.playing import playing
from workspace_sandbox.boards import BoardsEmulator
from workspace_sandbox.boards.access import Credentials
from workspace_sandbox.boards.refusals import Refusal
from workspace_sandbox.boards.seed import APP
from workspace_sandbox.boards.throttle import Spender, Throttle
from workspace_sandbox.boards.wire import PAGES, ROUTES
from workspace_sandbox.kit.stage import Stage

UNKNOWN = "5f0000000000000000000000"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json; charset=utf-8"


TOKEN_SPENT = {"error": "API_TOKEN_LIMIT_EXCEEDED", "message": "Rate limit exceeded"}
KEY_SPENT = {"error": "API_KEY_LIMIT_EXCEEDED", "message": "Rate limit exceeded"}
MEMBER_SPENT = {"error": "RATE_LIMIT_EXCEEDED", "message": "Exceeded rate limit to /1/member"}


class Trello:
    """The emulator, the address it is steered by, and a caller who presents key and token."""

    def __init__(self, emulator: BoardsEmulator, control: str, session: requests.Session) -> None:
        self.emulator = emulator
        self.control = control
        self.session = session
        self.base = emulator.stage.addresses["base"]
        self.examples = emulator.examples()
        self.key, self.token = emulator.credentials()["key"], emulator.credentials()["token"]

    def ask(self, method: str, path: str, *, auth: str | None = "", **named: Any) -> requests.Response:
        """Any request; with the account's own header unless *auth* is another one, or none."""
        given = f'OAuth oauth_consumer_key="{self.key}", oauth_token="{self.token}"' if auth == "" else auth
        headers = {**named.pop("headers", {}), **({"Authorization": given} if given else {})}
        return self.session.request(method, f"{self.base}{path}", headers=headers, allow_redirects=False, **named)

    def get(self, path: str, **params: Any) -> Any:
        return self._accepted(self.ask("GET", f"/1{path}", params=params))

    def post(self, path: str, **body: Any) -> Any:
        return self._accepted(self.ask("POST", f"/1{path}", json=body))

    def put(self, path: str, **body: Any) -> Any:
        return self._accepted(self.ask("PUT", f"/1{path}", json=body))

    def steer(self, route: str, **body: Any) -> Any:
        return self.session.post(f"{self.control}/_control{route}", json=body).json()

    def card(self, name: str = "A card", **values: Any) -> Any:
        return self.post("/cards", **{"idList": self.examples["list_ids"][0], "name": name, **values})

    @staticmethod
    def _accepted(answer: requests.Response) -> Any:
        assert answer.status_code == 200, answer.text
        return answer.json()


def refused(answer: requests.Response) -> tuple[int, str, str]:
    return answer.status_code, answer.headers["Content-Type"], answer.text


@pytest.fixture(scope="module")
def played() -> Iterator[tuple[BoardsEmulator, str]]:
    with playing(boards=BoardsEmulator) as sandbox:
        emulator = sandbox.emulators["boards"]
        assert isinstance(emulator, BoardsEmulator)
        yield emulator, sandbox.address


@pytest.fixture
def trello(played: tuple[BoardsEmulator, str]) -> Iterator[Trello]:
    emulator, control = played
    emulator.stage.reset()
    emulator.reset()
    with requests.Session() as session:
        yield Trello(emulator, control, session)


# Getting in


def test_the_header_wins_over_query_and_body(trello: Trello) -> None:
    answer = trello.ask("GET", "/1/members/me", params={"key": "wrong", "token": "wrong"})

    assert answer.status_code == 200


def test_key_and_token_are_taken_from_the_query(trello: Trello) -> None:
    answer = trello.ask("GET", "/1/members/me", auth=None, params={"key": trello.key, "token": trello.token})

    assert answer.json()["username"] == "gatewaybot"


@pytest.mark.parametrize("form", ["json", "data"])
def test_key_and_token_are_taken_from_the_body(trello: Trello, form: str) -> None:
    body = {"key": trello.key, "token": trello.token, "text": "hi"}

    answer = trello.ask("POST", f"/1/cards/{trello.examples['card_id']}/actions/comments", auth=None, **{form: body})

    assert answer.json()["data"]["text"] == "hi"


def test_an_oauth_1_header_is_let_in_by_key_and_token(trello: Trello) -> None:
    header = (
        'OAuth oauth_nonce="1", oauth_timestamp="2", oauth_version="1.0", oauth_signature_method="HMAC-SHA1", '
        f'oauth_consumer_key="{trello.key}", oauth_token="{trello.token}", oauth_signature="a%2Bb%3D"'
    )

    assert trello.ask("GET", "/1/members/me", auth=header).status_code == 200


@pytest.mark.parametrize(
    ("method", "given", "expected"),
    [
        ("GET", (), (401, TEXT, "unauthorized card permission requested")),
        ("GET", ("key",), (401, JSON, '{"message":"missing scopes"}')),
        ("GET", ("token",), (401, TEXT, "invalid key")),
        ("PUT", (), (401, JSON, '{"message":"missing scopes"}')),
        ("PUT", ("key",), (401, JSON, '{"message":"missing scopes"}')),
        ("PUT", ("token",), (401, TEXT, "invalid key")),
    ],
)
def test_missing_credentials_are_refused_in_the_vendors_words(
    trello: Trello, method: str, given: tuple[str, ...], expected: tuple[int, str, str]
) -> None:
    params = {name: trello.emulator.credentials()[name] for name in given}

    answer = trello.ask(method, f"/1/cards/{trello.examples['card_id']}", auth=None, params=params)

    assert expected == refused(answer)


def test_a_wrong_token_and_a_wrong_key_are_told_apart(trello: Trello) -> None:
    wrong_token = trello.ask("GET", "/1/members/me", auth=None, params={"key": trello.key, "token": "ATTAwrong"})
    wrong_key = trello.ask("GET", "/1/members/me", auth=None, params={"key": "0" * 32, "token": trello.token})

    assert refused(wrong_token) == (401, TEXT, "invalid token")
    assert refused(wrong_key) == (401, TEXT, "invalid key")


def test_a_malformed_id_is_noticed_before_wrong_credentials(trello: Trello) -> None:
    answer = trello.ask("GET", "/1/boards/not-an-id", auth=None)

    assert refused(answer) == (400, TEXT, "invalid id")


def test_the_token_is_looked_at_before_permission_and_existence(trello: Trello) -> None:
    trello.emulator.revoke()

    answers = [trello.ask("GET", f"/1/boards/{one}") for one in (trello.examples["hidden_board_id"], UNKNOWN)]

    assert [refused(answer) for answer in answers] == [(401, TEXT, "invalid token")] * 2


def test_a_revoked_token_is_authorised_again(trello: Trello) -> None:
    trello.steer("/boards/revoke")
    revoked = trello.ask("GET", "/1/members/me").status_code
    trello.steer("/boards/authorise")

    assert (revoked, trello.ask("GET", "/1/members/me").status_code) == (401, 200)


def test_a_token_tells_about_itself_and_deletes_itself(trello: Trello) -> None:
    me = trello.get("/members/me", fields="username")

    told = trello.get(f"/tokens/{trello.token}", fields="identifier,idMember,dateCreated,dateExpires,permissions")
    member = trello.get(f"/tokens/{trello.token}/member")
    gone = trello.ask("DELETE", f"/1/tokens/{trello.token}")

    assert ("Connector Gateway", me["id"], None) == (told["identifier"], told["idMember"], told["dateExpires"])
    assert {"idModel": "*", "modelType": "Board", "read": True, "write": True} in told["permissions"]
    assert (me["id"], 200) == (member["id"], gone.status_code)
    assert refused(trello.ask("GET", "/1/members/me")) == (401, TEXT, "invalid token")


# Being refused


@pytest.mark.parametrize(
    ("example", "path", "text"),
    [
        ("hidden_board_id", "/1/boards/{}", "unauthorized permission requested"),
        ("hidden_list_id", "/1/lists/{}", "unauthorized permission requested"),
        ("hidden_card_id", "/1/cards/{}", "unauthorized card permission requested"),
    ],
)
def test_what_the_account_cannot_see_is_unauthorized(trello: Trello, example: str, path: str, text: str) -> None:
    answer = trello.ask("GET", path.format(trello.examples[example]))

    assert (401, TEXT, text) == refused(answer)


def test_hidden_things_are_missing_when_the_knob_says_so(trello: Trello) -> None:
    trello.steer("/boards/knobs", hidden_is_missing=True)

    answer = trello.ask("GET", f"/1/boards/{trello.examples['hidden_board_id']}")

    assert refused(answer) == (404, TEXT, "The requested resource was not found.")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("boards", "The requested resource was not found."),
        ("cards", "The requested resource was not found."),
        ("checklists", "The requested resource was not found."),
        ("lists", "model not found"),
    ],
)
def test_what_is_not_there_is_missing(trello: Trello, kind: str, text: str) -> None:
    assert (404, TEXT, text) == refused(trello.ask("GET", f"/1/{kind}/{UNKNOWN}"))


@pytest.mark.parametrize("id_list", [None, "", "invalid_value", UNKNOWN + "f", "Ab12Cd34", 7])
def test_a_card_needs_a_well_formed_list(trello: Trello, id_list: Any) -> None:
    answer = trello.ask("POST", "/1/cards", json={"idList": id_list, "name": "x"})

    assert refused(answer) == (400, TEXT, "invalid value for idList")


def test_a_card_for_an_unknown_list_finds_no_board(trello: Trello) -> None:
    answer = trello.ask("POST", "/1/cards", json={"idList": trello.examples["card_id"], "name": "x"})

    assert refused(answer) == (404, TEXT, "could not find the board that the card belongs to")


def test_a_card_for_a_hidden_list_is_unauthorized(trello: Trello) -> None:
    answer = trello.ask("POST", "/1/cards", json={"idList": trello.examples["hidden_list_id"], "name": "x"})

    assert refused(answer) == (401, TEXT, "unauthorized card permission requested")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"name": 5}, "invalid value for name"),
        ({"name": "n" * 16_385}, "invalid value for name"),
        ({"desc": ["x"]}, "invalid value for desc"),
        ({"due": "next Tuesday"}, "invalid value for due"),
        ({"due": "9999-12-31T23:59:59.9999Z"}, "invalid value for due"),
        ({"pos": -1}, "invalid value for pos"),
        ({"pos": "middle"}, "invalid value for pos"),
        ({"idLabels": [UNKNOWN]}, "invalid value for idLabels"),
        ({"idMembers": UNKNOWN}, "invalid value for idMembers"),
        ({"dueComplete": "maybe"}, "invalid value for dueComplete"),
    ],
)
def test_a_malformed_value_is_named_and_nothing_is_made(trello: Trello, values: dict[str, Any], text: str) -> None:
    target = trello.examples["list_ids"][0]
    before = len(trello.get(f"/lists/{target}/cards"))

    answer = trello.ask("POST", "/1/cards", json={"idList": target, "name": "x", **values})

    assert (400, TEXT, text) == refused(answer)
    assert before == len(trello.get(f"/lists/{target}/cards"))


def test_a_label_may_be_named_once_only(trello: Trello) -> None:
    label = trello.get(f"/boards/{trello.examples['board_id']}/labels", limit=1)[0]["id"]

    answer = trello.ask("POST", "/1/cards", json={"idList": trello.examples["list_ids"][0], "idLabels": [label, label]})

    assert refused(answer) == (400, TEXT, "invalid value for idLabels")


def test_a_label_that_is_no_id_is_refused_in_json(trello: Trello) -> None:
    answer = trello.ask("POST", "/1/cards", json={"idList": trello.examples["list_ids"][0], "idLabels": "bug"})

    assert (answer.status_code, answer.json()) == (400, {"message": "Invalid objectId", "error": "ERROR"})


def test_names_of_boards_and_lists_are_refused_in_json(trello: Trello) -> None:
    board = trello.ask("POST", "/1/boards/", json={})
    card_list = trello.ask("POST", "/1/lists", json={"idBoard": trello.examples["board_id"], "name": ""})

    assert refused(board) == (400, JSON, '{"message":"invalid value for name","error":"ERROR"}')
    assert refused(card_list) == (400, JSON, '{"message":"invalid value for name","error":"BAD_REQUEST_ERROR"}')


def test_lists_and_checklists_for_unknown_things_are_unauthorized(trello: Trello) -> None:
    card_list = trello.ask("POST", "/1/lists", json={"idBoard": UNKNOWN, "name": "x"})
    checklist = trello.ask("POST", "/1/checklists", json={"idCard": UNKNOWN, "name": "x"})

    assert (401, TEXT, f"unauthorized board list requested {UNKNOWN}") == refused(card_list)
    assert refused(checklist) == (401, TEXT, "unauthorized board requested")


@pytest.mark.parametrize("path", ["/1/nothing?a=b", "/1/boards/", "/2/cards", "/1/lists/?key=k&token=t"])
def test_an_unknown_route_echoes_all_of_the_address(trello: Trello, path: str) -> None:
    answer = trello.ask("GET", path)

    assert (404, TEXT, f"Cannot GET {path}") == refused(answer)


def test_an_unknown_method_or_field_is_an_unknown_route(trello: Trello) -> None:
    path = f"/1/cards/{trello.examples['card_id']}"

    patched = trello.ask("PATCH", path)
    put = trello.ask("PUT", f"{path}/shape", json={"value": "round"})

    assert (404, TEXT, f"Cannot PATCH {path}") == refused(patched)
    assert (404, TEXT, f"Cannot PUT {path}/shape") == refused(put)


def test_a_request_line_beyond_8_kilobytes_is_too_long(trello: Trello) -> None:
    path = f"/1/cards/{trello.examples['card_id']}/actions/comments"

    in_query = trello.ask("POST", path, params={"text": "x" * 10_000})
    in_body = trello.ask("POST", path, json={"text": "x" * 16_384})

    assert (in_query.status_code, in_body.status_code) == (414, 200)


def test_json_without_its_content_type_is_not_read(trello: Trello) -> None:
    body = json.dumps({"idList": trello.examples["list_ids"][0], "name": "x"})

    answer = trello.ask("POST", "/1/cards", data=body, headers={"Content-Type": "text/plain"})

    assert refused(answer) == (400, TEXT, "invalid value for idList")


@pytest.mark.parametrize("body", ["{", '{"text": NaN}', "[" * 100_000])
def test_broken_json_is_refused(trello: Trello, body: str) -> None:
    path = f"/1/cards/{trello.examples['card_id']}/actions/comments"

    answer = trello.ask("POST", path, data=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 400


# Cards


@pytest.mark.parametrize("form", ["json", "data", "params"])
def test_a_card_is_made_from_json_form_or_query(trello: Trello, form: str) -> None:
    target = trello.examples["list_ids"][0]
    values = {"idList": target, "name": "Fix door", "desc": "**now**", "due": "2026-12-01T09:00:00.000Z"}
    sent: dict[str, Any] = {form: values}

    card = trello.ask("POST", "/1/cards", **sent).json()

    assert values == {name: card[name] for name in values}
    assert re.fullmatch(r"https://trello.com/c/\w{8}", card["shortUrl"])
    assert f"{card['shortUrl']}/{card['idShort']}-fix-door" == card["url"]


def test_a_card_has_every_key_that_clients_need(trello: Trello) -> None:
    needed = {
        "id", "name", "desc", "closed", "dueComplete", "due", "start", "url", "shortUrl", "shortLink", "pos", "idBoard",
        "idList", "idShort", "idMembers", "idLabels", "idChecklists", "labels", "badges", "dateLastActivity", "cover",
        "isTemplate",
    }  # fmt: skip

    assert needed <= trello.get(f"/cards/{trello.examples['card_id']}").keys()


def test_the_id_of_a_card_begins_with_its_time(trello: Trello) -> None:
    before = int(trello.emulator.stage.clock.now())

    first, second = trello.card()["id"], trello.card()["id"]

    assert before <= int(first[:8], 16) <= before + 5
    assert first < second


def test_labels_are_worn_in_the_order_given(trello: Trello) -> None:
    wanted = [label["id"] for label in trello.get(f"/boards/{trello.examples['board_id']}/labels", limit=3)][::-1]

    by_array, by_text = trello.card(idLabels=wanted), trello.card(idLabels=",".join(wanted))

    assert wanted == by_array["idLabels"] == by_text["idLabels"]
    assert wanted == [label["id"] for label in by_array["labels"]]


def test_places_are_computed_in_steps(trello: Trello) -> None:
    board = trello.post("/boards", name="Places", defaultLists=False)
    card_list = trello.post(f"/boards/{board['id']}/lists", name="Only")["id"]

    places = [trello.card(idList=card_list, pos=pos)["pos"] for pos in ("bottom", "bottom", "top", 20_000.5)]

    assert places == [16_384, 32_768, 8_192, 20_000.5]
    assert sorted(places) == [card["pos"] for card in trello.get(f"/lists/{card_list}/cards", fields="pos")]


@pytest.mark.parametrize("by", ["id", "shortLink"])
def test_a_card_is_found_by_id_and_short_link(trello: Trello, by: str) -> None:
    card = trello.card("Twice")

    assert card["id"] == trello.get(f"/cards/{card[by]}", fields="")["id"]


def test_a_card_moves_within_its_board(trello: Trello) -> None:
    source, target = trello.examples["list_ids"]
    card = trello.card()

    moved = trello.put(f"/cards/{card['id']}", idList=target, pos="bottom")
    (action,) = trello.get(f"/cards/{card['id']}/actions", filter="updateCard:idList")

    assert (target, action["date"]) == (moved["idList"], moved["dateLastActivity"])
    assert {"idList": source} == action["data"]["old"]
    assert (source, target) == (action["data"]["listBefore"]["id"], action["data"]["listAfter"]["id"])


def test_a_move_to_where_it_is_leaves_no_action(trello: Trello) -> None:
    card = trello.card()

    trello.put(f"/cards/{card['id']}", idList=card["idList"], pos="top")

    assert trello.get(f"/cards/{card['id']}/actions", filter="updateCard:idList") == []


def test_a_list_of_another_board_is_refused_without_that_board(trello: Trello) -> None:
    card, other = trello.card(), trello.examples["other_board_list_id"]

    answer = trello.ask("PUT", f"/1/cards/{card['id']}", json={"idList": other})

    assert (404, TEXT, f"List {other} does not exist on board {card['idBoard']}") == refused(answer)
    assert card["idList"] == trello.get(f"/cards/{card['id']}")["idList"]


def test_with_that_board_a_card_does_cross(trello: Trello) -> None:
    card, other = trello.card(), trello.examples["other_board_list_id"]

    moved = trello.put(f"/cards/{card['id']}", idList=other, idBoard=trello.examples["other_board_id"])

    assert (other, trello.examples["other_board_id"]) == (moved["idList"], moved["idBoard"])


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("name", "Other", "Other"),
        ("closed", "true", True),
        ("pos", 5, 5),
        ("due", "2027-01-01", "2027-01-01T00:00:00.000Z"),
        ("due", None, None),
    ],
)
def test_a_field_of_a_card_is_put_by_itself(trello: Trello, field: str, value: Any, expected: Any) -> None:
    card = trello.card(due="2026-12-01T09:00:00Z")

    trello.put(f"/cards/{card['id']}/{field}", value=value)

    assert {"_value": expected} == trello.get(f"/cards/{card['id']}/{field}")


def test_a_bad_value_of_a_field_is_called_value(trello: Trello) -> None:
    answer = trello.ask("PUT", f"/1/lists/{trello.examples['list_ids'][0]}/closed", json={"value": "maybe"})

    assert refused(answer) == (400, TEXT, "invalid value for value")


def test_an_archived_list_still_takes_cards(trello: Trello) -> None:
    archived = trello.examples["archived_list_id"]

    assert trello.card(idList=archived)["idList"] == archived


def test_a_deleted_card_is_gone_with_its_actions(trello: Trello) -> None:
    card = trello.card()
    action = trello.post(f"/cards/{card['id']}/actions/comments", text="hi")

    trello.ask("DELETE", f"/1/cards/{card['id']}")

    assert [
        trello.ask("GET", path).status_code for path in (f"/1/cards/{card['id']}", f"/1/actions/{action['id']}")
    ] == [404, 404]


def test_half_a_surrogate_is_replaced(trello: Trello) -> None:
    assert trello.card("a\ud800b")["name"] == "a\ufffdb"


# Comments and the log


def test_a_comment_is_an_action_with_author_and_application(trello: Trello) -> None:
    card = trello.card("Talk")

    action = trello.post(f"/cards/{card['shortLink']}/actions/comments", text="Done <b>?</b>")

    assert ("commentCard", "Done <b>?</b>", {"id": APP.id}) == (
        action["type"],
        action["data"]["text"],
        action["appCreator"],
    )
    assert card["id"] == action["data"]["card"]["id"]
    assert action["idMemberCreator"] == action["memberCreator"]["id"]
    assert {"id", "name"} == action["data"]["list"].keys()


@pytest.mark.parametrize("text", ["", None, "x" * 16_385, 5])
def test_a_comment_needs_a_text_of_sensible_length(trello: Trello, text: Any) -> None:
    answer = trello.ask("POST", f"/1/cards/{trello.examples['card_id']}/actions/comments", json={"text": text})

    assert refused(answer) == (400, TEXT, "invalid value for text")


def test_comments_are_read_newest_first_a_page_at_a_time(trello: Trello) -> None:
    card = trello.card()
    texts = ["one", "two", "three", "four", "five"]
    made = [trello.post(f"/cards/{card['id']}/actions/comments", text=text)["id"] for text in texts]
    path = f"/cards/{card['id']}/actions"

    def read(**asked: Any) -> list[str]:
        return [action["data"]["text"] for action in trello.get(path, filter="commentCard", **asked)]

    assert read(limit=2) == ["five", "four"]
    assert read(limit=2, page=1) == ["three", "two"]
    assert read(before=made[2]) == ["two", "one"]
    assert read(since=made[2]) == ["five", "four"]
    assert read(since="2999-01-01T00:00:00Z") == []
    assert len(read(since="2020-01-01T00:00:00Z", before="2999-01-01")) == 5


@pytest.mark.parametrize(("name", "value"), [("limit", "1001"), ("page", "20"), ("since", "yesterday")])
def test_a_page_of_actions_beyond_bounds_is_refused(trello: Trello, name: str, value: str) -> None:
    answer = trello.ask("GET", f"/1/cards/{trello.examples['card_id']}/actions", params={name: value})

    assert (400, TEXT, f"invalid value for {name}") == refused(answer)


def test_dates_of_actions_never_go_back(trello: Trello) -> None:
    trello.card()

    dates = [action["date"] for action in trello.get(f"/boards/{trello.examples['board_id']}/actions", limit=1000)]

    assert sorted(dates, reverse=True) == dates
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", dates[0])


def test_the_log_of_a_card_holds_what_happened(trello: Trello) -> None:
    card = trello.card()
    trello.post(f"/cards/{card['id']}/actions/comments", text="hi")
    trello.post(f"/cards/{card['id']}/checklists", name="QA")
    trello.put(f"/cards/{card['id']}", name="Renamed")

    log = trello.get(f"/cards/{card['id']}/actions", filter="all")

    assert [action["type"] for action in log] == ["updateCard", "addChecklistToCard", "commentCard", "createCard"]
    assert log[0]["data"]["old"] == {"name": "A card"}


# Boards


def test_a_board_shows_lists_cards_and_labels_in_one_answer(trello: Trello) -> None:
    raw = trello.get(
        f"/boards/{trello.examples['board_id']}",
        fields="name,closed",
        lists="open",
        list_fields="name,pos",
        cards="open",
        card_fields="idList",
        labels="all",
        label_fields="name,color",
        labels_limit=1000,
    )

    assert {"id", "name", "closed", "lists", "cards", "labels"} == raw.keys()
    assert [{"id", "name", "pos"}, {"id", "idList"}, {"id", "name", "color"}] == [
        raw[name][0].keys() for name in ("lists", "cards", "labels")
    ]
    assert (len(raw["lists"]), len(raw["labels"])) == (7, 65)
    assert len(raw["cards"]) > 600


def test_open_cards_are_also_in_archived_lists_but_visible_ones_are_not(trello: Trello) -> None:
    board, archived = trello.examples["board_id"], trello.examples["archived_list_id"]

    lists = {
        name: {card["idList"] for card in trello.get(f"/boards/{board}/cards/{name}", fields="idList")}
        for name in ("open", "visible")
    }

    assert (archived in lists["open"], archived in lists["visible"]) == (True, False)


def test_fifty_labels_come_unless_asked_otherwise(trello: Trello) -> None:
    path = f"/boards/{trello.examples['board_id']}"

    assert [
        len(trello.get(path, labels="all")["labels"]),
        len(trello.get(f"{path}/labels", limit=1000)),
        len(trello.get(f"{path}/labels", limit=3)),
    ] == [50, 65, 3]


def test_labels_are_unnamed_doubled_and_in_every_script(trello: Trello) -> None:
    names = [one["name"] for one in trello.get(f"/boards/{trello.examples['board_id']}/labels", limit=1000)]

    assert (names.count(""), names.count("bug"), names.count("日本語")) == (7, 2, 1)
    assert set(trello.examples["labels"]) <= set(names)
    assert "press" not in names[:50]


def test_cards_of_a_board_are_walked_newest_first(trello: Trello) -> None:
    path = f"/boards/{trello.examples['board_id']}/cards"

    first = trello.get(path, fields="", limit=400, sort="-id", filter="open")
    second = trello.get(path, fields="", limit=400, sort="-id", filter="open", before=first[-1]["id"])

    walked = [card["id"] for card in first + second]
    assert sorted(walked, reverse=True) == walked
    assert {card["id"] for card in trello.get(f"{path}/open", fields="")} == set(walked)


def test_too_many_cards_with_actions_are_refused(trello: Trello) -> None:
    answer = trello.ask("GET", f"/1/boards/{trello.examples['board_id']}", params={"cards": "open", "actions": "all"})

    assert (answer.status_code, answer.json()["error"]) == (429, "API_TOO_MANY_CARDS_REQUESTED")


def test_a_closed_board_still_answers(trello: Trello) -> None:
    assert trello.get(f"/boards/{trello.examples['closed_board_id']}")["closed"]


def test_the_seed_has_two_lists_of_one_name_and_archived_ones(trello: Trello) -> None:
    lists = trello.get(f"/boards/{trello.examples['board_id']}/lists", filter="all")

    names = [one["name"] for one in lists if not one["closed"]]
    assert names.count("Waiting") == 2
    assert trello.examples["archived_list_id"] in [one["id"] for one in lists if one["closed"]]


def test_a_card_shows_its_list_and_checklists_when_asked(trello: Trello) -> None:
    raw = trello.get(
        f"/cards/{trello.examples['card_id']}",
        fields="idList",
        list="true",
        list_fields="name",
        checklists="all",
        checklist_fields="name",
        checkItem_fields="name,state",
    )

    assert {"id": raw["idList"], "name": "To do"} == raw["list"]
    assert raw["checklists"][0]["name"] == "Before we ship"
    assert {"id", "name", "state"} == raw["checklists"][0]["checkItems"][0].keys()


def test_lists_are_archived_renamed_and_moved_between_boards(trello: Trello) -> None:
    board, other = trello.examples["board_id"], trello.examples["other_board_id"]
    card_list = trello.post("/lists", idBoard=board, name="Wandering")
    card = trello.card(idList=card_list["id"])

    changed = trello.put(f"/lists/{card_list['id']}", name="Settled", closed="true", idBoard=other)

    assert ("Settled", True, other) == (changed["name"], changed["closed"], changed["idBoard"])
    assert other == trello.get(f"/cards/{card['id']}")["idBoard"]


# Checklists


def test_a_checklist_is_built_item_by_item(trello: Trello) -> None:
    card = trello.card()
    checklist = trello.post(f"/cards/{card['id']}/checklists", name="QA", pos="bottom")
    for name, pos in (("second", 32_768), ("first", 16_384), ("third", "bottom")):
        trello.post(f"/checklists/{checklist['id']}/checkItems", name=name, pos=pos)

    (read,) = trello.get(f"/cards/{card['id']}/checklists")

    assert checklist["checkItems"] == []
    assert [(item["name"], item["pos"]) for item in read["checkItems"]] == [
        ("first", 16_384),
        ("second", 32_768),
        ("third", 49_152),
    ]
    assert {"incomplete"} == {item["state"] for item in read["checkItems"]}


def test_a_checklist_is_shown_without_items_when_asked(trello: Trello) -> None:
    (raw,) = trello.get(f"/cards/{trello.examples['card_id']}/checklists", fields="name", checkItems="none")

    assert {"id", "name"} == raw.keys()


def test_a_checklist_without_a_name_has_the_default_one(trello: Trello) -> None:
    assert trello.post("/checklists", idCard=trello.card()["id"])["name"] == "Checklist"


def test_a_checklist_is_copied_from_another(trello: Trello) -> None:
    (source,) = trello.get(f"/cards/{trello.examples['card_id']}/checklists")

    copy = trello.post(f"/cards/{trello.card()['id']}/checklists", idChecklistSource=source["id"])

    assert [item["name"] for item in source["checkItems"]] == [item["name"] for item in copy["checkItems"]]


def test_a_full_checklist_takes_no_more(trello: Trello) -> None:
    trello.steer("/boards/knobs", items_per_checklist=1)
    checklist = trello.post(f"/cards/{trello.card()['id']}/checklists", name="Short")["id"]
    trello.post(f"/checklists/{checklist}/checkItems", name="one")

    answer = trello.ask("POST", f"/1/checklists/{checklist}/checkItems", json={"name": "two"})

    assert answer.status_code == 403


def test_an_item_without_a_name_is_refused(trello: Trello) -> None:
    checklist = trello.post(f"/cards/{trello.card()['id']}/checklists", name="QA")["id"]

    answer = trello.ask("POST", f"/1/checklists/{checklist}/checkItems", json={"name": ""})

    assert refused(answer) == (400, TEXT, "invalid value for name")


# Batches


def test_a_batch_answers_in_order_with_refusals_among_them(trello: Trello) -> None:
    card, card_list = trello.examples["card_id"], trello.examples["list_ids"][0]

    parts = trello.get(
        "/batch", urls=f"/cards/{card}?fields=name,idList,/lists/{card_list}?fields=name,/lists/{UNKNOWN}"
    )

    assert {"id", "name", "idList"} == parts[0]["200"].keys()
    assert {"id": card_list, "name": "To do"} == parts[1]["200"]
    assert parts[2] == {"name": "NotFoundError", "message": "model not found", "statusCode": 404}


@pytest.mark.parametrize("urls", ["", "cards/x", ",".join(["/members/me"] * 11)])
def test_a_batch_has_one_to_ten_paths(trello: Trello, urls: str) -> None:
    answer = trello.ask("GET", "/1/batch", params={"urls": urls})

    assert refused(answer) == (400, TEXT, "invalid value for urls")


# Budgets


def test_every_answer_tells_what_is_left(trello: Trello) -> None:
    headers = trello.ask("GET", f"/1/lists/{trello.examples['list_ids'][0]}").headers

    assert [
        headers[f"x-rate-limit-api-{scope}-{name}"]
        for scope in ("token", "key")
        for name in ("interval-ms", "max", "remaining")
    ] == ["10000", "100", "99", "10000", "300", "299"]
    assert "x-rate-limit-member-max" not in headers


def test_the_101st_request_of_a_token_is_refused(trello: Trello) -> None:
    path = f"/1/lists/{trello.examples['list_ids'][0]}"
    statuses = {trello.ask("GET", path, params={"fields": "name"}).status_code for _ in range(100)}

    answer = trello.ask("GET", path)

    assert {200} == statuses
    assert refused(answer) == (429, JSON, '{"error":"API_TOKEN_LIMIT_EXCEEDED","message":"Rate limit exceeded"}')
    assert "Retry-After" not in answer.headers
    assert answer.headers["x-rate-limit-api-token-remaining"] == "0"


def test_without_limits_nothing_is_refused(trello: Trello) -> None:
    trello.steer("/boards/knobs", limits=False)
    path = f"/1/lists/{trello.examples['list_ids'][0]}"

    assert {200} == {trello.ask("GET", path, params={"fields": "name"}).status_code for _ in range(110)}


def test_a_batch_is_counted_by_its_parts(trello: Trello) -> None:
    answer = trello.ask("GET", "/1/batch", params={"urls": ",".join([f"/lists/{UNKNOWN}"] * 10)})

    assert answer.headers["x-rate-limit-api-token-remaining"] == "90"


def spent(throttle: Throttle, now: float, spender: Spender) -> Any:
    """The body of a refusal, or none."""
    try:
        throttle.spend(spender, now)
    except Refusal as refusal:
        return refusal.body
    return None


def test_a_window_slides() -> None:
    throttle, spender = Throttle(), Spender("k", "t")

    early = [spent(throttle, 0.0, spender) for _ in range(50)] + [spent(throttle, 5.0, spender) for _ in range(50)]

    assert early == [None] * 100
    assert spent(throttle, 9.9, spender) == TOKEN_SPENT
    assert [spent(throttle, 10.0, spender) for _ in range(51)] == [None] * 50 + [TOKEN_SPENT]


def test_a_key_is_shared_by_its_tokens() -> None:
    throttle = Throttle()

    spends = [spent(throttle, 0.0, Spender("k", f"t{number % 4}")) for number in range(301)]

    assert spends == [None] * 300 + [KEY_SPENT]


def test_member_routes_have_a_budget_of_a_quarter_of_an_hour() -> None:
    throttle = Throttle()

    spends = [spent(throttle, float(second), Spender("k", "t", 1, 1)) for second in range(101)]

    assert spends == [None] * 100 + [MEMBER_SPENT]
    assert spent(throttle, 101.0, Spender("k", "t")) is None
    assert spent(throttle, 900.0, Spender("k", "t", 1, 1)) is None


def test_more_than_200_refusals_lock_the_whole_key_out() -> None:
    throttle = Throttle()
    for _ in range(301):
        spent(throttle, 0.0, Spender("k", "t"))

    assert spent(throttle, 1.0, Spender("k", "other")) == KEY_SPENT
    assert spent(throttle, 1.0, Spender("k2", "other")) is None
    assert spent(throttle, 10.0, Spender("k", "other")) is None


def test_member_routes_show_their_budget(trello: Trello) -> None:
    headers = trello.ask("GET", "/1/members/me").headers

    assert [headers[f"x-rate-limit-member-{one}"] for one in ("interval-ms", "max", "remaining")] == [
        "900000",
        "100",
        "99",
    ]


# Consent


def test_the_consent_page_asks_and_then_hands_a_token_over(trello: Trello) -> None:
    asked = {"key": trello.key, "scope": "read", "expiration": "1hour", "return_url": "http://127.0.0.1:9/back?state=s"}

    page = trello.ask("GET", "/1/authorize", auth=None, params=asked)
    answer = trello.ask("POST", "/1/authorize", auth=None, data={**asked, "approve": "true"})

    assert (page.status_code, "<form" in page.text) == (200, True)
    back = urlsplit(answer.headers["Location"])
    assert (answer.status_code, back.query) == (302, "state=s")
    token = parse_qs(back.fragment)["token"][0]
    credentials = {"key": trello.key, "token": token}
    read = trello.ask("GET", f"/1/tokens/{token}", auth=None, params=credentials)
    write = trello.ask("POST", "/1/cards", auth=None, params=credentials)
    assert read.status_code == 200
    assert refused(write) == (401, JSON, '{"message":"missing scopes"}')


def test_consent_is_given_at_once_when_asked_to(trello: Trello) -> None:
    asked = {"key": trello.key, "scope": "read,write", "expiration": "never", "return_url": "http://localhost/back"}

    answer = trello.ask("GET", "/1/authorize", auth=None, params={**asked, "auto_approve": "true"})

    assert answer.headers["Location"].startswith("http://localhost/back#token=ATTA")


def test_consent_is_denied_and_sent_nowhere_unknown(trello: Trello) -> None:
    asked = {"key": trello.key, "return_url": "http://127.0.0.1/back"}

    denied = trello.ask("POST", "/1/authorize", auth=None, data={**asked, "approve": "false"})
    foreign = trello.ask("GET", "/1/authorize", auth=None, params={**asked, "return_url": "https://evil.example/"})
    unknown = trello.ask("GET", "/1/authorize", auth=None, params={**asked, "key": "nobody"})

    assert denied.headers["Location"] == "http://127.0.0.1/back#error=Token%20request%20rejected"
    assert (foreign.status_code, unknown.status_code) == (400, 401)


@pytest.mark.parametrize("address", ["http://[", "http://127.0.0.1/\r\nX: y", "javascript:alert(1)"])
def test_nobody_is_sent_to_a_broken_address(trello: Trello, address: str) -> None:
    asked = {"key": trello.key, "return_url": address, "auto_approve": "true"}

    assert trello.ask("GET", "/1/authorize", auth=None, params=asked).status_code == 400


def test_a_token_ends_with_its_hour(trello: Trello) -> None:
    now = trello.emulator.stage.clock.now()
    asked = {"key": trello.key, "scope": "read", "expiration": "1hour", "auto_approve": "true"}
    page = trello.ask("GET", "/1/authorize", auth=None, params=asked).text
    (token,) = re.findall("ATTA[0-9A-F]{72}", page)
    presented, access = Credentials(trello.key, token), trello.emulator.access

    assert access.visitor(presented, now + 3599, invalid_token="").token is not None
    with pytest.raises(Refusal, match="expired"):
        access.visitor(presented, now + 3700, invalid_token="expired")


def test_oauth_1_goes_round_once(trello: Trello) -> None:
    address = f"{trello.base}/1"
    with OAuth1Session(APP.key, APP.secret, callback_uri="http://127.0.0.1/back") as first:
        request_token = first.fetch_request_token(f"{address}/OAuthGetRequestToken")
    asked = {"oauth_token": request_token["oauth_token"], "scope": "read,write", "auto_approve": "true"}
    back = trello.ask("GET", "/1/OAuthAuthorizeToken", auth=None, params=asked).headers["Location"]
    secret, verifier = request_token["oauth_token_secret"], parse_qs(urlsplit(back).query)["oauth_verifier"][0]

    with OAuth1Session(APP.key, APP.secret, asked["oauth_token"], secret, verifier=verifier) as last:
        token = last.fetch_access_token(f"{address}/OAuthGetAccessToken")
        again = last.get(f"{address}/OAuthGetAccessToken")
    with OAuth1Session(APP.key, APP.secret, token["oauth_token"], token["oauth_token_secret"]) as session:
        me = session.get(f"{address}/members/me")

    assert (me.json()["username"], again.status_code) == ("gatewaybot", 401)


def test_oauth_2_goes_round_with_pkce_and_rotates(trello: Trello) -> None:
    verifier = "v" * 43
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    asked = {
        "client_id": APP.key,
        "redirect_uri": "http://127.0.0.1/back",
        "response_type": "code",
        "scope": "read:board:trello write:board:trello offline_access",
        "state": "s",
        "auto_approve": "true",
    }
    client = {"client_id": APP.key, "client_secret": APP.secret}
    pkce = {"code_challenge": challenge, "code_challenge_method": "S256"}

    bare = trello.ask("GET", "/authorize", auth=None, params=asked)
    back = parse_qs(urlsplit(trello.ask("GET", "/authorize", auth=None, params=asked | pkce).headers["Location"]).query)
    redeem = {
        **client,
        "grant_type": "authorization_code",
        "code": back["code"][0],
        "redirect_uri": asked["redirect_uri"],
        "code_verifier": verifier,
    }
    first = trello.ask("POST", "/oauth/token", auth=None, json=redeem)
    replayed = trello.ask("POST", "/oauth/token", auth=None, json=redeem)
    refresh = {**client, "grant_type": "refresh_token", "refresh_token": first.json()["refresh_token"]}
    second = trello.ask("POST", "/oauth/token", auth=None, json=refresh)
    stale = trello.ask("POST", "/oauth/token", auth=None, json=refresh)
    me = trello.ask("GET", "/1/members/me", auth=f"Bearer {second.json()['access_token']}")

    assert "error=invalid_request" in bare.headers["Location"]
    assert (back["state"], first.json()["expires_in"], first.json()["token_type"]) == (["s"], 3600, "Bearer")
    assert [(one.status_code, one.json()["error"]) for one in (replayed, stale)] == [(403, "invalid_grant")] * 2
    assert me.json()["username"] == "gatewaybot"


# Faults and steering


def test_a_status_fault_writes_nothing(trello: Trello) -> None:
    trello.steer("/boards/faults", fault="status", status=401, body="invalid app token", method="POST", path="/1/cards")
    before = len(trello.emulator.store.cards)

    answer = trello.ask("POST", "/1/cards", json={"idList": trello.examples["list_ids"][0], "name": "x"})

    assert refused(answer) == (401, TEXT, "invalid app token")
    assert before == len(trello.emulator.store.cards)


@pytest.mark.parametrize(("fault", "written"), [("drop_before", 0), ("drop_after", 1)])
def test_a_cut_connection_has_or_has_not_written(trello: Trello, fault: str, written: int) -> None:
    trello.steer("/boards/faults", fault=fault, method="POST", path="/1/cards")
    before = len(trello.emulator.store.cards)

    with pytest.raises(requests.ConnectionError):
        trello.card()

    assert written == len(trello.emulator.store.cards) - before


def test_garbage_is_not_json(trello: Trello) -> None:
    trello.steer("/boards/faults", fault="garbage", path="/1/members/me")

    with pytest.raises(requests.JSONDecodeError):
        trello.get("/members/me")


@pytest.mark.parametrize("fault", ["delay", "slow_body"])
def test_a_slow_answer_arrives_whole(trello: Trello, fault: str) -> None:
    trello.steer("/boards/faults", fault=fault, seconds=0.05, path="/1/members/me")

    assert trello.get("/members/me")["username"] == "gatewaybot"


def test_writes_are_accepted_with_202_when_the_knob_says_so(trello: Trello) -> None:
    trello.steer("/boards/knobs", write_status=202)

    write = trello.ask("POST", "/1/cards", json={"idList": trello.examples["list_ids"][0], "name": "x"})
    read = trello.ask("GET", f"/1/cards/{write.json()['id']}")

    assert (write.status_code, read.status_code) == (202, 200)


def test_the_text_for_a_dead_token_is_a_knob(trello: Trello) -> None:
    trello.steer("/boards/knobs", invalid_token="invalid app token")
    trello.steer("/boards/revoke")

    assert refused(trello.ask("GET", "/1/members/me")) == (401, TEXT, "invalid app token")


def test_a_reset_repeats_the_same_state(trello: Trello) -> None:
    def shape() -> tuple[Any, ...]:
        made = trello.card("After the reset")
        board = trello.get(f"/boards/{trello.examples['board_id']}", lists="all", cards="all", labels="all")
        cards = [card for card in board.pop("cards") if card["id"] != made["id"]]
        return made["shortLink"], made["idShort"], made["id"][8:], board, cards

    trello.steer("/reset")
    first = shape()
    trello.steer("/boards/revoke")
    trello.steer("/reset")

    assert first == shape()


def test_a_colleague_acts_by_hand(trello: Trello) -> None:
    source, target = trello.examples["list_ids"]
    made = trello.steer("/boards/act", action="create_card", list_id=source, name="By hand", mood="good")
    trello.steer("/boards/act", action="move_card", card_id=made["card_id"], list_id=target)
    trello.steer("/boards/act", action="comment", card_id=made["card_id"], text="Mine")
    trello.steer("/boards/act", action="archive_list", list_id=target)

    log = trello.get(f"/cards/{made['card_id']}/actions", filter="all")

    assert [action["type"] for action in log] == ["commentCard", "updateCard", "createCard"]
    assert {None} == {action["appCreator"] for action in log}
    assert {"ines.marchetti"} == {action["memberCreator"]["username"] for action in log}
    assert trello.get(f"/lists/{target}")["closed"]


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"action": "dance"},
        {"action": "create_card", "list_id": UNKNOWN, "name": "x"},
        {"action": "comment", "card_id": "card_id", "text": "x"},
    ],
)
def test_a_bad_action_is_an_error(trello: Trello, action: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="no "):
        trello.emulator.act(action)


def test_a_text_is_needed_to_comment_by_hand(trello: Trello) -> None:
    with pytest.raises(ValueError, match="text must be a text"):
        trello.emulator.act({"action": "comment", "card_id": trello.examples["card_id"], "text": ""})


def test_credentials_and_examples_have_the_agreed_names(trello: Trello) -> None:
    agreed = {
        "board_id", "list_ids", "labels", "card_id", "other_board_list_id", "archived_list_id", "hidden_board_id",
    }  # fmt: skip

    assert {"key", "token"} == trello.emulator.credentials().keys()
    assert re.fullmatch(r"[0-9a-f]{32}", trello.key)
    assert re.fullmatch(r"ATTA[0-9A-Za-z]{72}", trello.token)
    assert agreed <= trello.examples.keys()


def test_the_routes_served_are_the_routes_listed() -> None:
    application = BoardsEmulator(Stage(SystemClock(), **BoardsEmulator.knobs)).applications()["base"]

    served = {
        (route.method, route.resource.canonical.removesuffix("{_}"))
        for route in application.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }

    assert {(route.method, route.path) for route in ROUTES} | {page[:2] for page in PAGES} == served


def test_every_reading_route_answers(trello: Trello) -> None:
    examples = trello.examples
    action = trello.get(f"/cards/{examples['card_id']}/actions")[0]["id"]
    (checklist,) = trello.get(f"/cards/{examples['card_id']}/checklists")
    label = trello.get(f"/boards/{examples['board_id']}/labels", limit=1)[0]["id"]
    named = {
        "board": examples["board_id"],
        "list": examples["list_ids"][0],
        "card": examples["card_id"],
        "label": label,
        "checklist": checklist["id"],
        "item": checklist["checkItems"][0]["id"],
        "action": action,
        "member": "me",
        "organization": "northwindtools",
        "token": trello.token,
        "filter": "all",
    }
    asked = {"query": "fix", "urls": "/members/me"}
    reading = [route.path for route in ROUTES if route.method == "GET" and "{field}" not in route.path]

    answers = {path: trello.ask("GET", path.format(**named), params=asked) for path in reading}

    assert [path for path, answer in answers.items() if not answer.ok or answer.headers["Content-Type"] != JSON] == []


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/boards/{board_id}", "name"),
        ("/lists/{archived_list_id}", "closed"),
        ("/cards/{card_id}", "idList"),
        ("/members/me", "username"),
    ],
)
def test_one_field_is_read_by_itself(trello: Trello, path: str, field: str) -> None:
    path = path.format(**trello.examples)

    assert trello.get(f"{path}/{field}") == {"_value": trello.get(path)[field]}


def test_labels_are_made_changed_worn_and_deleted(trello: Trello) -> None:
    label = trello.post("/labels", idBoard=trello.examples["board_id"], name="new", color="sky_dark")
    card = trello.card(idLabels=label["id"])
    trello.put(f"/labels/{label['id']}", name="newer")
    trello.put(f"/labels/{label['id']}/color", value=None)

    (worn,) = trello.get(f"/cards/{card['id']}")["labels"]
    trello.ask("DELETE", f"/1/labels/{label['id']}")

    assert (worn["name"], worn["color"]) == ("newer", None)
    assert trello.get(f"/cards/{card['id']}")["labels"] == []


def test_a_card_takes_and_drops_labels_and_members(trello: Trello) -> None:
    path = f"/cards/{trello.card()['id']}"
    me = trello.get("/members/me")["id"]
    label = trello.post(f"{path}/labels", name="just here", color="lime")["id"]
    trello.post(f"{path}/idMembers", value=me)
    dressed = trello.get(path, fields="idLabels,idMembers")

    twice = trello.ask("POST", f"/1{path}/idLabels", json={"value": label})
    trello.ask("DELETE", f"/1{path}/idLabels/{label}")
    trello.ask("DELETE", f"/1{path}/idMembers/{me}")

    assert (dressed["idLabels"], dressed["idMembers"], twice.status_code) == ([label], [me], 400)
    assert {"idLabels": [], "idMembers": []}.items() <= trello.get(path).items()


def test_all_cards_of_a_list_are_moved_and_archived(trello: Trello) -> None:
    source, target = trello.examples["list_ids"]
    held = {card["id"] for card in trello.get(f"/lists/{source}/cards")}

    trello.post(f"/lists/{source}/moveAllCards", idBoard=trello.examples["board_id"], idList=target)
    moved = {card["id"] for card in trello.get(f"/lists/{target}/cards")}
    trello.post(f"/lists/{target}/archiveAllCards")

    assert held < moved
    assert trello.get(f"/lists/{target}/cards") == []


def test_a_board_is_renamed_and_deleted_with_all_that_is_on_it(trello: Trello) -> None:
    board, card = trello.examples["board_id"], trello.examples["card_id"]

    renamed = trello.put(f"/boards/{board}", name="Renamed", desc="new")
    trello.ask("DELETE", f"/1/boards/{board}")

    assert (renamed["name"], renamed["desc"]) == ("Renamed", "new")
    assert [trello.ask("GET", path).status_code for path in (f"/1/boards/{board}", f"/1/cards/{card}")] == [404, 404]


def test_somebody_elses_comment_cannot_be_edited(trello: Trello) -> None:
    made = trello.steer("/boards/act", action="comment", card_id=trello.examples["card_id"], text="Mine")

    answer = trello.ask("PUT", f"/1/actions/{made['comment_id']}", json={"text": "Yours"})

    assert refused(answer) == (401, TEXT, "unauthorized card permission requested")


def test_a_fault_of_our_own_is_logged_and_shown_plainly(
    trello: Trello, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(trello.emulator.store, "cards", None)

    answer = trello.ask("GET", f"/1/cards/{trello.examples['card_id']}")

    assert refused(answer) == (500, TEXT, "Internal Server Error")
    assert "AttributeError" in caplog.text
