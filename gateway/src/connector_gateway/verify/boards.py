"""Checks of the facts of ``connectors/boards/facts.toml``."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from secrets import token_hex
from typing import Any

from connector_gateway.verify.account_under_test import TEXT, Account, NotCheckable, UnsuitablePlace, VendorReply
from connector_gateway.verify.checks import Checks, expect

LONGEST = 16_384
"""The length limit of a text."""

DUE = "2030-01-02T03:04:05Z"


async def open_place(account: Account) -> None:
    """Check that the place is a board without open lists."""
    lists = await account.request("GET", f"/1/boards/{account.place}/lists")
    if lists.status != 200:
        raise UnsuitablePlace("It is not a board that this connection can access.")
    if lists.body:
        raise UnsuitablePlace("The board has open lists.")


CHECKS = Checks(open_place, "the ID of a board without open lists")


# What several checks read or create


async def me(account: Account) -> VendorReply:
    """Return the member of the connection."""
    return await account.request("GET", "/1/members/me", query={"fields": "fullName,username"})


async def lists(account: Account) -> list[str]:
    """Create two lists in the place. Trello deletes no lists, so they are archived afterwards."""
    return [await _create_list(account, name) for name in ("first", "second")]


async def _create_list(account: Account, name: str) -> str:
    body = {"idBoard": account.place, "name": name, "pos": "bottom"}

    async def make() -> str:
        reply = await account.request("POST", "/1/lists", body)
        if reply.status != 200:
            raise NotCheckable("No list can be created on the board.")
        list_id: str = reply.body["id"]
        return list_id

    archive = partial(account.request, "PUT", body={"closed": True})
    return await account.create("list", make(), str, lambda uid: archive(f"/1/lists/{uid}"))


async def own_card(account: Account) -> str:
    """Create a card through the operation, and return its ID."""
    first, _ = await account.once(lists)
    make = account.call("create_card", list_id=first, name=TEXT, due=DUE)
    remove = partial(account.request, "DELETE")
    created = await account.create("card", make, lambda one: one["card_id"], lambda uid: remove(f"/1/cards/{uid}"))
    card_id: str = created["card_id"]
    return card_id


async def card(account: Account) -> VendorReply:
    """Return the created card."""
    return await account.request("GET", f"/1/cards/{await account.once(own_card)}")


async def comments(account: Account) -> Any:
    """Comment twice through the operation, and return the actions on the card."""
    card_id = await account.once(own_card)
    for text in ("first", "second"):
        await account.call("comment_on_card", card_id=card_id, text=text)
    reply = await account.request("GET", f"/1/cards/{card_id}/actions", query={"filter": "commentCard"})
    return reply.body


async def moved_card(account: Account) -> Any:
    """Move the card through the operation, and return the actions of the move."""
    card_id = await account.once(own_card)
    _, second = await account.once(lists)
    await account.call("move_card", card_id=card_id, list_id=second)
    reply = await account.request("GET", f"/1/cards/{card_id}/actions", query={"filter": "updateCard:idList"})
    return reply.body


async def checklists(account: Account) -> Any:
    """Attach a checklist through the operation, and return the card's."""
    card_id = await account.once(own_card)
    await account.call("attach_checklist", card_id=card_id, name=TEXT, items=["one", "two"])
    return (await account.request("GET", f"/1/cards/{card_id}/checklists")).body


# Reads


@CHECKS.reads
async def _hexadecimal_ids(account: Account) -> None:
    uid = (await account.once(me)).body["id"]
    expect((24, True), (len(uid), set(uid) <= set("0123456789abcdef")))


@CHECKS.reads
async def _requested_fields_only(account: Account) -> None:
    expect({"id", "fullName", "username"}, set((await account.once(me)).body))


@CHECKS.reads
async def _date_in_seconds(account: Account) -> None:
    expect("GMT", (await account.once(me)).headers.get("date", "no header")[-3:])


@CHECKS.reads
async def _missing_board_is_404(account: Account) -> None:
    reply = await account.request("GET", f"/1/boards/{token_hex(12)}")
    expect(404, reply.status)


@CHECKS.reads
async def _malformed_id_is_400(account: Account) -> None:
    reply = await account.request("GET", "/1/cards/no-identifier")
    expect((400, "invalid id"), (reply.status, reply.body))


@CHECKS.reads
async def _unknown_path_is_404(account: Account) -> None:
    reply = await account.request("GET", "/1/noSuchPath")
    expect(404, reply.status)


@CHECKS.reads
async def _errors_are_text(account: Account) -> None:
    reply = await account.request("GET", f"/1/lists/{token_hex(12)}")
    expect("text/plain", reply.headers.get("content-type", "no header").partition(";")[0])


# Writes


@CHECKS.writes
async def _ids_begin_with_time(account: Account) -> None:
    reply = await account.once(card)
    created_at = datetime.fromtimestamp(int(reply.body["id"][:8], 16), UTC)
    age = parsedate_to_datetime(reply.headers["date"]) - created_at
    expect(True, abs(age.total_seconds()) < 3600)


@CHECKS.writes
async def _short_links(account: Account) -> None:
    reply = await account.request("GET", f"/1/cards/{(await account.once(card)).body['shortLink']}")
    expect((200, True), (reply.status, reply.body["id"] == await account.once(own_card)))


@CHECKS.writes
async def _milliseconds_in_due(account: Account) -> None:
    expect(True, (await account.once(card)).body["due"] == "2030-01-02T03:04:05.000Z")


@CHECKS.writes
async def _list_of_new_card(account: Account) -> None:
    reply = await account.once(card)
    expect(True, reply.body["idBoard"] == account.place)


@CHECKS.writes
async def _unknown_list_of_card(account: Account) -> None:
    reply = await account.request("POST", "/1/cards", {"idList": token_hex(12), "name": TEXT})
    expect((404, "could not find the board that the card belongs to"), (reply.status, reply.body))


@CHECKS.writes
async def _text_of_16384(account: Account) -> None:
    body = {"desc": "a" * (LONGEST + 1)}
    reply = await account.request("PUT", f"/1/cards/{await account.once(own_card)}", body)
    expect(400, reply.status)


@CHECKS.writes
async def _newest_action_first(account: Account) -> None:
    texts = [one["data"]["text"] for one in await account.once(comments)]
    expect(["second", "first"], texts)


@CHECKS.writes
async def _author_of_action(account: Account) -> None:
    authors = {one["idMemberCreator"] for one in await account.once(comments)}
    expect(True, authors == {(await account.once(me)).body["id"].lower()})


@CHECKS.writes
async def _app_of_action(account: Account) -> None:
    expect(True, all(one.get("appCreator") for one in await account.once(comments)))


@CHECKS.writes
async def _lists_of_move(account: Account) -> None:
    move, *_ = await account.once(moved_card)
    first, second = await account.once(lists)
    data = move["data"]
    expect(True, (data["listBefore"]["id"], data["listAfter"]["id"]) == (first, second))


@CHECKS.writes
async def _positions_of_items(account: Account) -> None:
    items = (await account.once(checklists))[0]["checkItems"]
    positions = [one["pos"] for one in items]
    expect(True, len(items) == 2 and positions == sorted(positions))


@CHECKS.writes
async def _cards_by_page(account: Account) -> None:
    await account.call("describe_board", board_id=account.place)
    card_id = await account.once(own_card)
    query = {"limit": 1, "before": card_id, "fields": "idList"}
    reply = await account.request("GET", f"/1/boards/{account.place}/cards", query=query)
    expect(False, card_id in [one["id"] for one in reply.body])


@CHECKS.writes
async def _archived_lists_hidden(account: Account) -> None:
    archived = await _create_list(account, "archived")
    await account.request("PUT", f"/1/lists/{archived}", {"closed": True})
    reply = await account.request("GET", f"/1/boards/{account.place}/lists", query={"filter": "open"})
    expect({False}, {one["closed"] for one in reply.body})
