"""Boards with lists, labels and cards, created from a seed."""

from typing import TYPE_CHECKING, Any

from workspace_sandbox.boards.seed import Seed
from workspace_sandbox.boards.state import SHADES, Author, Board, Card, CardList
from workspace_sandbox.kit.asking import suggested
from workspace_sandbox.kit.sowing import SeedValue

if TYPE_CHECKING:
    from workspace_sandbox.boards.emulator import BoardsEmulator


def sow(trello: "BoardsEmulator", given: SeedValue) -> dict[str, Any]:
    """Create the objects in *given* for the account and its colleague. Returns their identifiers by name."""
    given.object_of("boards")
    seed, author = trello.seed, Author(trello.seed.owner, None, trello.stage.now())
    boards = [one.object_of("name", "desc", "labels", "lists", needs="name") for one in given.each("boards")]
    return {"boards": {one.text("name"): _board(seed, author, one) for one in boards}}


def _board(seed: Seed, author: Author, entry: SeedValue) -> dict[str, Any]:
    board = seed.store.add_board(author, entry.text("name"), entry.text("desc"))
    board.members[seed.colleague.id] = seed.colleague
    for label in entry.each("labels"):
        label.object_of("name", "color")
        seed.store.add_label(author.at, board, label.text("name"), _color(label))
    lists = [one.object_of("name", "cards", needs="name") for one in entry.each("lists")]
    return {"board_id": board.id, "lists": {one.text("name"): _list(seed, author, board, one) for one in lists}}


def _color(entry: SeedValue) -> str | None:
    color = entry.value.get("color")
    if color is not None and color not in SHADES:
        raise entry.wrong(f"There is no color {color!r}; {suggested(str(color), SHADES)}")
    return str(color) if color is not None else None


def _list(seed: Seed, author: Author, board: Board, entry: SeedValue) -> str:
    card_list = seed.store.add_list(author, board, entry.text("name"))
    for card in entry.each("cards"):
        _card(seed, author, card_list, card)
    return card_list.id


def _card(seed: Seed, author: Author, card_list: CardList, entry: SeedValue) -> None:
    if isinstance(entry.value, str):
        seed.store.add_card(author, card_list, entry.value)
        return
    entry.object_of("name", "desc", "due", "labels", "closed", "comments", "checklists", needs="name")
    labels_by_name = {label.name: label for label in card_list.board.labels.values()}
    labels = []
    for label_value in entry.each("labels"):
        if label_value.as_text() not in labels_by_name:
            raise label_value.wrong(f"The board has no label {label_value.value!r}.")
        labels.append(labels_by_name[label_value.value])
    due = entry.text("due") or None
    card = seed.store.add_card(
        author,
        card_list,
        entry.text("name"),
        desc=entry.text("desc"),
        due=due,
        labels=labels,
        closed=entry.flag("closed"),
    )
    _work(seed, author, card, entry)


def _work(seed: Seed, author: Author, card: Card, entry: SeedValue) -> None:
    for comment in entry.each("comments"):
        seed.store.comment(author, card, comment.as_text())
    for one in entry.each("checklists"):
        one.object_of("name", "items", needs="name")
        checklist = seed.store.add_checklist(author, card, one.text("name"))
        for item in one.each("items"):
            seed.store.add_item(author.at, checklist, item.as_text())
