"""Boards with lists, labels and cards, created from a seed."""

from typing import TYPE_CHECKING, Any

from workspace_sandbox.boards.data.default_data import DefaultAccount
from workspace_sandbox.boards.data.objects import SHADES, Author, Board, Card, CardList
from workspace_sandbox.kit.input_validation import suggest
from workspace_sandbox.kit.state.seed_file_values import SeedValue

if TYPE_CHECKING:
    from workspace_sandbox.boards.emulator import BoardsEmulator


def apply_seed(trello: "BoardsEmulator", data: SeedValue) -> dict[str, Any]:
    """Create the objects in *data* for the account and its colleague. Returns their identifiers by name."""
    data.check_object("boards")
    seed, author = trello.seed, Author(trello.seed.owner, None, trello.context.now())
    boards = [one.check_object("name", "desc", "labels", "lists", required="name") for one in data.list_items("boards")]
    return {"boards": {one.text("name"): _board(seed, author, one) for one in boards}}


def _board(seed: DefaultAccount, author: Author, entry: SeedValue) -> dict[str, Any]:
    board = seed.store.add_board(author, entry.text("name"), entry.text("desc"))
    board.members[seed.colleague.id] = seed.colleague
    for label in entry.list_items("labels"):
        label.check_object("name", "color")
        seed.store.add_label(author.at, board, label.text("name"), _color(label))
    lists = [one.check_object("name", "cards", required="name") for one in entry.list_items("lists")]
    return {"board_id": board.id, "lists": {one.text("name"): _list(seed, author, board, one) for one in lists}}


def _color(entry: SeedValue) -> str | None:
    color = entry.value.get("color")
    if color is not None and color not in SHADES:
        raise entry.error(f"Unknown color {color!r}; {suggest(str(color), SHADES)}")
    return str(color) if color is not None else None


def _list(seed: DefaultAccount, author: Author, board: Board, entry: SeedValue) -> str:
    card_list = seed.store.add_list(author, board, entry.text("name"))
    for card in entry.list_items("cards"):
        _card(seed, author, card_list, card)
    return card_list.id


def _card(seed: DefaultAccount, author: Author, card_list: CardList, entry: SeedValue) -> None:
    if isinstance(entry.value, str):
        seed.store.add_card(author, card_list, entry.value)
        return
    entry.check_object("name", "desc", "due", "labels", "closed", "comments", "checklists", required="name")
    labels_by_name = {label.name: label for label in card_list.board.labels.values()}
    labels = []
    for label_value in entry.list_items("labels"):
        if label_value.as_text() not in labels_by_name:
            raise label_value.error(f"The board has no label {label_value.value!r}.")
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


def _work(seed: DefaultAccount, author: Author, card: Card, entry: SeedValue) -> None:
    for comment in entry.list_items("comments"):
        seed.store.comment(author, card, comment.as_text())
    for one in entry.list_items("checklists"):
        one.check_object("name", "items", required="name")
        checklist = seed.store.add_checklist(author, card, one.text("name"))
        for item in one.list_items("items"):
            seed.store.add_item(author.at, checklist, item.as_text())
