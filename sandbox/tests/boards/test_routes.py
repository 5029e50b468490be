"""The boards emulator, byte for byte where the vendor's bytes are known: its routes, and batches of them."""

import pytest

from sandbox.tests.boards.boards_client import JSON, TEXT, UNKNOWN, Trello, status_type_and_text
from workspace_sandbox.boards.deliveries import Webhook
from workspace_sandbox.boards.routes import ROUTES


def test_a_batch_returns_responses_and_errors_in_order(trello: Trello) -> None:
    card, card_list = trello.examples["card_id"], trello.examples["list_ids"][0]

    parts = trello.get(
        "/batch", urls=f"/cards/{card}?fields=name,idList,/lists/{card_list}?fields=name,/lists/{UNKNOWN}"
    )

    assert {"id", "name", "idList"} == parts[0]["200"].keys()
    assert {"id": card_list, "name": "To do"} == parts[1]["200"]
    assert {"name": "NotFoundError", "message": "model not found", "statusCode": 404} == parts[2]


@pytest.mark.parametrize("urls", ["", "cards/x", ",".join(["/members/me"] * 11)])
def test_a_batch_has_one_to_ten_paths(trello: Trello, urls: str) -> None:
    response = trello.request("GET", "/1/batch", params={"urls": urls})

    assert (400, TEXT, "invalid value for urls") == status_type_and_text(response)


def test_every_get_route_responds(trello: Trello) -> None:
    examples, store = trello.examples, trello.emulator.store
    mine, seen = trello.emulator.oauth.default_token, store.boards[examples["board_id"]]
    store.webhooks[UNKNOWN] = Webhook(id=UNKNOWN, token=mine, model=seen, url="http://a.test")
    here, colleague = f"/cards/{examples['card_id']}", trello.emulator.seed.colleague.id
    trello.post(f"{here}/idMembers", value=colleague)
    action = trello.get(f"{here}/actions", filter="addMemberToCard")[0]["id"]
    chosen = {"idModel": examples["board_id"], "modelType": "board", "name": "Size", "type": "list"}
    size = trello.post("/customFields", **chosen, options=[{"value": {"text": "S"}}])
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
        "webhook": UNKNOWN,
        "attachment": trello.post(f"{here}/attachments", url="https://example.com")["id"],
        "sticker": trello.post(f"{here}/stickers", image="taco-cool", top=1, left=2, zIndex=3)["id"],
        "custom_field": size["id"],
        "option": size["options"][0]["id"],
        "membership": trello.get("/organizations/northwindtools/memberships")[0]["id"],
        "star": trello.post("/members/me/boardStars", idBoard=examples["board_id"], pos="top")["id"],
    }
    params = {"query": "fix", "urls": "/members/me"}
    other = ("{field}", "/download/")
    paths = [route.path for route in ROUTES if route.method == "GET"]
    reading = [path for path in paths if not any(word in path for word in other)]

    responses = {path: trello.request("GET", path.format(**named), params=params) for path in reading}

    assert [] == [
        path for path, response in responses.items() if not response.ok or response.headers["Content-Type"] != JSON
    ]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/boards/{board_id}", "name"),
        ("/lists/{archived_list_id}", "closed"),
        ("/cards/{card_id}", "idList"),
        ("/members/me", "username"),
    ],
)
def test_a_single_field_can_be_read(trello: Trello, path: str, field: str) -> None:
    path = path.format(**trello.examples)

    assert trello.get(f"{path}/{field}") == {"_value": trello.get(path)[field]}
