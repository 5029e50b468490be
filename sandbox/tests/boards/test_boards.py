"""The boards emulator, byte for byte where the vendor's bytes are known: boards, lists and labels."""

from sandbox.tests.boards.boards_client import Trello


def test_a_board_includes_lists_cards_and_labels(trello: Trello) -> None:
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
    assert (7, 65) == (len(raw["lists"]), len(raw["labels"]))
    assert len(raw["cards"]) > 600


def test_open_cards_are_also_in_archived_lists_but_visible_ones_are_not(trello: Trello) -> None:
    board, archived = trello.examples["board_id"], trello.examples["archived_list_id"]

    lists = {
        name: {card["idList"] for card in trello.get(f"/boards/{board}/cards/{name}", fields="idList")}
        for name in ("open", "visible")
    }

    assert (True, False) == (archived in lists["open"], archived in lists["visible"])


def test_fifty_labels_are_returned_by_default(trello: Trello) -> None:
    path = f"/boards/{trello.examples['board_id']}"

    assert [50, 65, 3] == [
        len(trello.get(path, labels="all")["labels"]),
        len(trello.get(f"{path}/labels", limit=1000)),
        len(trello.get(f"{path}/labels", limit=3)),
    ]


def test_labels_can_be_unnamed_duplicate_and_in_any_script(trello: Trello) -> None:
    names = [one["name"] for one in trello.get(f"/boards/{trello.examples['board_id']}/labels", limit=1000)]

    assert (7, 2, 1) == (names.count(""), names.count("bug"), names.count("日本語"))
    assert set(trello.examples["labels"]) <= set(names)
    assert "press" not in names[:50]


def test_cards_of_a_board_are_paged_newest_first(trello: Trello) -> None:
    path = f"/boards/{trello.examples['board_id']}/cards"

    first = trello.get(path, fields="", limit=400, sort="-id", filter="open")
    second = trello.get(path, fields="", limit=400, sort="-id", filter="open", before=first[-1]["id"])

    walked = [card["id"] for card in first + second]
    assert sorted(walked, reverse=True) == walked
    assert {card["id"] for card in trello.get(f"{path}/open", fields="")} == set(walked)


def test_too_many_cards_with_actions_are_rejected(trello: Trello) -> None:
    response = trello.request(
        "GET", f"/1/boards/{trello.examples['board_id']}", params={"cards": "open", "actions": "all"}
    )

    assert (429, "API_TOO_MANY_CARDS_REQUESTED") == (response.status_code, response.json()["error"])


def test_the_default_data_has_duplicate_and_archived_lists(trello: Trello) -> None:
    lists = trello.get(f"/boards/{trello.examples['board_id']}/lists", filter="all")

    names = [one["name"] for one in lists if not one["closed"]]
    assert 2 == names.count("Waiting")
    assert trello.examples["archived_list_id"] in [one["id"] for one in lists if one["closed"]]


def test_a_card_includes_its_list_and_checklists_on_request(trello: Trello) -> None:
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
    assert "Before we ship" == raw["checklists"][0]["name"]
    assert {"id", "name", "state"} == raw["checklists"][0]["checkItems"][0].keys()


def test_lists_are_archived_renamed_and_moved_between_boards(trello: Trello) -> None:
    board, other = trello.examples["board_id"], trello.examples["other_board_id"]
    card_list = trello.post("/lists", idBoard=board, name="Wandering")
    card = trello.card(idList=card_list["id"])

    changed = trello.put(f"/lists/{card_list['id']}", name="Settled", closed="true", idBoard=other)

    assert ("Settled", True, other) == (changed["name"], changed["closed"], changed["idBoard"])
    assert other == trello.get(f"/cards/{card['id']}")["idBoard"]


def test_labels_are_created_changed_assigned_and_deleted(trello: Trello) -> None:
    label = trello.post("/labels", idBoard=trello.examples["board_id"], name="new", color="sky_dark")
    card = trello.card(idLabels=label["id"])
    trello.put(f"/labels/{label['id']}", name="newer")
    trello.put(f"/labels/{label['id']}/color", value=None)

    (worn,) = trello.get(f"/cards/{card['id']}")["labels"]
    trello.request("DELETE", f"/1/labels/{label['id']}")

    assert ("newer", None) == (worn["name"], worn["color"])
    assert [] == trello.get(f"/cards/{card['id']}")["labels"]


def test_all_cards_of_a_list_are_moved_and_archived(trello: Trello) -> None:
    source, target = trello.examples["list_ids"]
    card_ids = {card["id"] for card in trello.get(f"/lists/{source}/cards")}

    trello.post(f"/lists/{source}/moveAllCards", idBoard=trello.examples["board_id"], idList=target)
    moved = {card["id"] for card in trello.get(f"/lists/{target}/cards")}
    trello.post(f"/lists/{target}/archiveAllCards")

    assert card_ids < moved
    assert [] == trello.get(f"/lists/{target}/cards")


def test_a_board_is_renamed_and_deleted_with_its_contents(trello: Trello) -> None:
    board, card = trello.examples["board_id"], trello.examples["card_id"]

    renamed = trello.put(f"/boards/{board}", name="Renamed", desc="new")
    trello.request("DELETE", f"/1/boards/{board}")

    assert ("Renamed", "new") == (renamed["name"], renamed["desc"])
    assert [404, 404] == [
        trello.request("GET", path).status_code for path in (f"/1/boards/{board}", f"/1/cards/{card}")
    ]
