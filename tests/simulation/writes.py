"""The writes of callers, and counts of their objects in the vendors' state."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from connector_gateway.kit.context import RemoteFile

Body = dict[str, Any]
Data = Mapping[str, Any]

OVER = " / over"
"""The suffix of a content that overwrites another one of the same object."""


def target_of(content: str) -> str:
    """Return the content that identifies the object of a write."""
    return content.removesuffix(OVER)


class Targets(dict[tuple[str, str], str]):
    """Objects by kind and content; an overwriting content has the same object."""

    def __missing__(self, name: tuple[str, str]) -> str:
        kind, content = name
        if content == target_of(content):
            raise KeyError(name)
        return self[kind, target_of(content)]


@dataclass(frozen=True)
class CreatedObject:
    """A vendor object with the content of a write: the part of the write, and its flaws."""

    id: str
    part: int = 0
    flaws: tuple[str, ...] = ()


class ThirdParties(Protocol):
    """The vendors, accessed without the gateway."""

    @property
    def emulators(self) -> Mapping[str, Any]:
        """The emulators by connector."""
        ...

    async def request(self, connector: str, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        """Return the response to a client other than the gateway."""
        ...


@dataclass
class World:
    """The vendors, as seen by the history."""

    vendors: ThirdParties
    targets: Targets = field(default_factory=Targets)
    """Prepared target objects of writes, by kind and content."""

    by_colleague: set[str] = field(default_factory=set)
    before: set[str] = field(default_factory=set)
    """Objects from before the history, if the content alone does not identify them."""

    def emulator(self, connector: str) -> Any:
        """Return the emulator."""
        return self.vendors.emulators[connector]

    def example(self, connector: str, name: str) -> Any:
        """Return the identifier of a seeded object."""
        return self.vendors.emulators[connector].examples()[name]

    def act(self, connector: str, id_field: str, **action: Any) -> str:
        """Perform a user action, and return the created object's id, which is in the field *id_field*."""
        return str(self.emulator(connector).perform(action)[id_field])

    def by_hand(self, connector: str, id_field: str, **action: Any) -> None:
        """Perform the action of a colleague that equals the write of a caller."""
        self.by_colleague.add(self.act(connector, id_field, **action))


class Kind:
    """One operation in the simulation."""

    connector: str
    twins = True
    """Whether two keys with the same content create two objects."""

    colleague_distinguishable = True
    """Whether the vendor reports the creator of an object."""

    parts = 1
    overwriting = ""
    """The form of the vendor request that changes an object which another write can change later."""

    async def prepare(self, world: World, content: str) -> None:
        """Create the target object of the write."""

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        """Return method, path below the connector, and body."""
        raise NotImplementedError

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        """Return the objects of that content."""
        raise NotImplementedError

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        """Return the identifiers in a response by part. None if the object's own is not returned."""
        raise NotImplementedError

    def expected(self, data: Data, part: int) -> int:
        """Return the number of objects of a part that a response implies."""
        del data, part
        return 1

    def colleague(self, world: World, content: str) -> None:
        """Create an equal object as a colleague."""
        raise NotImplementedError


class Update(Kind):
    """A write that changes an existing object, so that nothing can be created twice."""

    twins = False


def flaws(seen: Sequence[str], expected: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the flaws of the second half of a write."""
    if list(seen) == list(expected):
        return ()
    twice = sorted({one for one in seen if seen.count(one) > 1})
    return (f"{len(seen)} {what} where {len(expected)} should be" + (f"; twice: {twice[:3]}" if twice else ""),)


# Notes


def _plain(value: Any) -> str:
    return "".join(part.plain if hasattr(part, "plain") else _text_of(part) for part in value or ())


def _text_of(part: Any) -> str:
    if isinstance(part, Mapping):
        return str(part.get("plain_text") or part.get("text", {}).get("content", ""))
    return str(part)


class CreatePage(Kind):
    """A page, whose blocks take a second and third request if there are many."""

    connector = "notes"

    def __init__(self, blocks: int = 3) -> None:
        self.blocks = [f"block {number}" for number in range(blocks)]

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        body = {"database_id": world.example("notes", "database_id"), "properties": {"Name": content}}
        return "POST", "/pages", body | {"children": self.blocks}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        workspace = world.emulator("notes").workspace
        for page in workspace.pages.values():
            if page.title == content and not page.in_trash:
                seen = [_plain(workspace.blocks[uid].content.get("rich_text")) for uid in page.children]
                yield CreatedObject(page.id, 0, flaws(seen, self.blocks, "blocks"))

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["page_id"]]

    def colleague(self, world: World, content: str) -> None:
        database_id = world.example("notes", "database_id")
        world.by_hand("notes", "page_id", action="create_page", database_id=database_id, properties={"Name": content})


class CreateVaguePage(CreatePage):
    """A page without content."""

    def __init__(self) -> None:
        super().__init__(0)

    async def prepare(self, world: World, content: str) -> None:
        world.before |= set(world.emulator("notes").workspace.pages)

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        return "POST", "/pages", {"database_id": world.example("notes", "database_id"), "properties": {}}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        return [one for one in super().created(world, "") if one.id not in world.before]

    def colleague(self, world: World, content: str) -> None:
        super().colleague(world, "")


class UpdatePage(Update):
    """Its page is renamed and moved to the trash, unless it was modified."""

    connector = "notes"

    async def prepare(self, world: World, content: str) -> None:
        database_id = world.example("notes", "database_id")
        page_id = world.act(
            "notes", "page_id", action="create_page", database_id=database_id, properties={"Name": "To be"}
        )
        world.targets["page", content] = page_id
        edited_at = world.emulator("notes").workspace.pages[page_id].edited_at
        world.targets["edited", content] = str(edited_at)

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        page_id = world.targets["page", content]
        since = _stamp(float(world.targets["edited", content]) + 60)
        body = {"properties": {"Name": content}, "archived": True, "if_unmodified_since": since}
        return "PATCH", f"/pages/{page_id}", body

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        page = world.emulator("notes").workspace.pages[world.targets["page", content]]
        if page.title == content:
            yield CreatedObject(page.id, 0, () if page.in_trash else ("it is not in the trash",))

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["page_id"]]


class RenamePage(Update):
    """Its page is renamed, even if it was modified."""

    connector = "notes"
    overwriting = r"PATCH /v1/pages/.*"

    async def prepare(self, world: World, content: str) -> None:
        await KINDS["notes.update_page"].prepare(world, content)

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        return "PATCH", f"/pages/{world.targets['page', content]}", {"properties": {"Name": content}}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        page = world.emulator("notes").workspace.pages[world.targets["page", content]]
        return [CreatedObject(page.id)] if page.title == content else []

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["page_id"]]


def _stamp(at: float) -> str:
    from connector_gateway.kit.clock import utc_datetime  # noqa: PLC0415  # the one place that needs it

    return utc_datetime(at).isoformat()


# Boards


class OnCard(Kind):
    """A write to its own card."""

    connector = "boards"

    async def prepare(self, world: World, content: str) -> None:
        list_id = world.example("boards", "list_ids")[0]
        card = world.act("boards", "card_id", action="create_card", list_id=list_id, name=f"target of {content}")
        world.targets["card", content] = card

    def card(self, world: World, content: str) -> Any:
        """Return the card."""
        return world.emulator("boards").store.cards[world.targets["card", content]]

    def comments(self, world: World, content: str) -> Iterable[CreatedObject]:
        """Return the comments with that text."""
        for action in self.card(world, content).actions:
            if action.type == "commentCard" and action.data["text"] == content:
                yield CreatedObject(action.id)

    def colleague(self, world: World, content: str) -> None:
        world.by_hand("boards", "comment_id", action="comment", card_id=world.targets["card", content], text=content)


class CreateCard(Kind):
    """A card at the bottom of a list."""

    connector = "boards"

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        return "POST", "/cards", {"list_id": world.example("boards", "list_ids")[0], "name": content}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        cards = world.emulator("boards").store.cards.values()
        return [CreatedObject(card.id) for card in cards if card.name == content]

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["card_id"]]

    def colleague(self, world: World, content: str) -> None:
        list_id = world.example("boards", "list_ids")[0]
        world.by_hand("boards", "card_id", action="create_card", list_id=list_id, name=content)


class CommentOnCard(OnCard):
    """A comment."""

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        return "POST", f"/cards/{world.targets['card', content]}/comments", {"text": content}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        return self.comments(world, content)

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["comment_id"]]


class MoveCard(OnCard):
    """A move with a comment; the comment could be created twice."""

    twins = False
    overwriting = r"PUT /1/cards/[^/]+"

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        index = int(content == target_of(content))
        body = {"list_id": world.example("boards", "list_ids")[index], "comment": content}
        return "POST", f"/cards/{world.targets['card', content]}/move", body

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        at = self.card(world, content).card_list.id
        was_moved = at == world.example("boards", "list_ids")[1]
        return [
            CreatedObject(one.id, 0, () if was_moved else ("the card was not moved",))
            for one in self.comments(world, content)
        ]

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [None]

    def expected(self, data: Data, part: int) -> int:
        del part
        return int(data["comment_posted"])


class AttachChecklist(OnCard):
    """A checklist, each of whose items takes a request."""

    items = ("one", "two", "three")

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        body = {"name": content, "items": list(self.items), "skip_if_present": False}
        return "POST", f"/cards/{world.targets['card', content]}/checklists", body

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        for checklist in self.card(world, content).checklists.values():
            if checklist.name == content:
                seen = [item.name for item in sorted(checklist.items.values(), key=lambda item: item.pos)]
                yield CreatedObject(checklist.id, 0, flaws(seen, self.items, "items"))

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["checklist_id"]]


# Mail


class SentMail(Kind):
    """A message or a draft, identified by its subject."""

    connector = "mail"
    colleague_distinguishable = False

    def __init__(self, path: str) -> None:
        self.path = path

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        return "POST", self.path, {"to": ["ada@example.com"], "subject": content, "body_html": "<p>Hi.</p>"}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        transport = world.emulator("mail").services.transport
        mailbox = transport.mailboxes[world.example("mail", "address")]
        drafts = {message.id: draft_id for draft_id, message in mailbox.drafts.items()}
        for message in mailbox.messages.values():
            if message.header("Subject") != content:
                continue
            if self.path == "/drafts":
                yield CreatedObject(
                    drafts.get(message.id, message.id), 0, () if message.id in drafts else ("it was sent",)
                )
            else:
                yield CreatedObject(message.id, 0, ("it was not sent",) if message.id in drafts else ())

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["draft_id"] if self.path == "/drafts" else data["message_id"]]


class ChangeLabels(Update):
    """A message gets a label that is created in the process."""

    connector = "mail"
    overwriting = r"POST .*/modify"

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        path = f"/messages/{world.example('mail', 'message_id')}/labels"
        if content != target_of(content):
            return "POST", path, {"remove": [target_of(content)]}
        return "POST", path, {"add": [content], "create_missing": True}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        transport = world.emulator("mail").services.transport
        mailbox = transport.mailboxes[world.example("mail", "address")]
        message = mailbox.messages[world.example("mail", "message_id")]
        for label_id in message.label_ids:
            if mailbox.labels[label_id].name == content:
                yield CreatedObject(message.id)

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["message_id"]]


# Chat


class PostMessage(Kind):
    """A message in a channel."""

    connector = "chat"

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        return "POST", "/messages", {"channel": world.example("chat", "channel_id"), "text": content}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        channel = world.emulator("chat").workspace.channels[world.example("chat", "channel_id")]
        return [CreatedObject(message.ts) for message in channel.messages.values() if message.text == content]

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["message_ts"]]

    def colleague(self, world: World, content: str) -> None:
        world.by_hand("chat", "ts", action="message", channel_id=world.example("chat", "channel_id"), text=content)


class OnMessage(Update):
    """A write to its own message."""

    connector = "chat"

    async def prepare(self, world: World, content: str) -> None:
        token = world.emulator("chat").credentials()["token"]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json; charset=utf-8"}
        body = {"channel": world.example("chat", "channel_id"), "text": f"before {content}"}
        posted = await world.vendors.request("chat", "POST", "/api/chat.postMessage", body, headers)
        world.targets["message", content] = posted["ts"]

    def message(self, world: World, content: str) -> Any:
        """Return the message."""
        channel = world.emulator("chat").workspace.channels[world.example("chat", "channel_id")]
        return channel.messages[world.targets["message", content]]

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["message_ts"]]


class EditMessage(OnMessage):
    """Return its text."""

    overwriting = r"POST /api/chat\.update"

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        body = {"channel": world.example("chat", "channel_id"), "text": content}
        return "PATCH", f"/messages/{world.targets['message', content]}", body

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        message = self.message(world, content)
        return [CreatedObject(message.ts)] if message.text == content else []


class AddReaction(OnMessage):
    """A reaction to its message."""

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        ts = world.targets["message", content]
        return "POST", "/reactions", {"channel": world.example("chat", "channel_id"), "message_ts": ts, "emoji": "eyes"}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        message = self.message(world, content)
        return [CreatedObject(message.ts)] if "eyes" in message.reactions else []


# CRM


class WriteContact(Update):
    """A contact with a company, both of which may have to be created."""

    connector = "crm"
    overwriting = r"POST .*/contacts/batch/upsert"

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        email, domain = self.names(content)
        body = {"email": email, "properties": {"firstname": content}, "associate_company": domain}
        return "POST", "/contacts", body | {"create_company": True}

    def names(self, content: str) -> tuple[str, str]:
        """Return email and company of the content."""
        domain = f"{target_of(content).lower().replace(' ', '-')}.example.com"
        return f"ada@{domain}", domain

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        portal = world.emulator("crm").portal
        email, domain = self.names(content)
        companies = {one.id for one in portal.records["companies"].values() if one.properties.get("domain") == domain}
        for contact in portal.records["contacts"].values():
            # A change of the same contact has another first name.
            if contact.properties.get("email") == email and contact.properties.get("firstname") == content:
                linked = {other for other, _ in portal.edges.linked(contact.reference, "companies")}
                wrong = f"{len(companies)} companies were made, {len(linked)} are linked"
                yield CreatedObject(str(contact.id), 0, () if len(companies) == 1 and companies == linked else (wrong,))

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["contact_id"]]


class CreateDeal(Kind):
    """A deal; the vendor does not report whether a person or an app created it."""

    connector = "crm"
    colleague_distinguishable = False

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        return "POST", "/deals", {"dealname": content, "pipeline": "default", "dealstage": "qualifiedtobuy"}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        deals = world.emulator("crm").portal.records["deals"].values()
        return [CreatedObject(str(deal.id)) for deal in deals if deal.properties.get("dealname") == content]

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["deal_id"]]

    def colleague(self, world: World, content: str) -> None:
        properties = {"dealname": content, "pipeline": "default", "dealstage": "qualifiedtobuy"}
        world.by_hand("crm", "id", action="create_deal", properties=properties)


class UpdateDeal(Kind):
    """Its deal is moved, and a note is logged, which could be created twice."""

    connector = "crm"
    twins = False
    overwriting = r"PATCH .*/deals/.*"

    async def prepare(self, world: World, content: str) -> None:
        properties = {"dealname": f"target of {content}", "pipeline": "default", "dealstage": "appointmentscheduled"}
        world.targets["deal", content] = world.act("crm", "id", action="create_deal", properties=properties)

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        path = f"/deals/{world.targets['deal', content]}"
        return "PATCH", path, {"dealstage": self.stage(content), "note": content}

    def stage(self, content: str) -> str:
        """Return the stage of the content."""
        return "qualifiedtobuy" if content == target_of(content) else "presentationscheduled"

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        portal = world.emulator("crm").portal
        deal = portal.records["deals"][int(world.targets["deal", content])]
        moved = deal.properties["dealstage"] == self.stage(content)
        for note in portal.records["notes"].values():
            if re.search(f"{re.escape(content)}(?!{OVER})", note.properties.get("hs_note_body", "")):
                yield CreatedObject(str(note.id), 0, () if moved else ("the deal was not moved",))

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [None]

    def expected(self, data: Data, part: int) -> int:
        del part
        return int(data["note_logged"])


# Tables


class OnTable(Kind):
    """A write to the table of leads."""

    connector = "tables"
    colleague_distinguishable = False

    def location(self, world: World) -> Body:
        """Return base and table as parameters."""
        return {"base_id": world.example("tables", "base_id"), "table": world.example("tables", "table")}

    def table(self, world: World) -> Any:
        """Return the table."""
        base = world.emulator("tables").workspace.base(world.example("tables", "base_id"))
        return next(table for table in base.tables if table.name == world.example("tables", "table"))

    def field(self, world: World, name: str) -> str:
        """Return the identifier of a field."""
        return str(next(column.id for column in self.table(world).fields if column.name == name))

    def filled(self, world: World, fields: Body) -> Body:
        """Return a person's action that creates a record."""
        return {"action": "create_record", "fields": fields, **self.location(world)}


class CreateRecords(OnTable):
    """Several records, in two requests if some have a new option."""

    parts = 3

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        records: list[Body] = [{"Name": f"{content} part {part}"} for part in range(self.parts)]
        records[-1]["Stage"] = content
        return "POST", "/records", {**self.location(world), "records": records, "allow_new_options": True}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        name = self.field(world, "Name")
        parts = {f"{content} part {part}": part for part in range(self.parts)}
        for record in self.table(world).records.values():
            part = parts.get(str(record.cells.get(name)))
            if part is not None:
                yield CreatedObject(record.id, part)

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        """Return nothing for a failed record; created ones are returned in order."""
        created, failed = iter(data["created"]), self.failed(data)
        return [None if part in failed else next(created) for part in range(self.parts)]

    def expected(self, data: Data, part: int) -> int:
        return int(part not in self.failed(data))

    def failed(self, data: Data) -> set[int]:
        """Return the parts that the vendor rejected."""
        return {failure["index"] for failure in data["failed"]}

    def colleague(self, world: World, content: str) -> None:
        world.by_hand("tables", "id", **self.filled(world, {"Name": f"{content} part 0"}))


class CreateVagueRecord(OnTable):
    """A record with a minimum of fields."""

    async def prepare(self, world: World, content: str) -> None:
        world.before |= set(self.table(world).records)

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        return "POST", "/records", {**self.location(world), "records": [{"Stage": "Open"}]}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        name = self.field(world, "Name")
        records = self.table(world).records.values()
        return [CreatedObject(one.id) for one in records if one.id not in world.before and not one.cells.get(name)]

    def expected(self, data: Data, part: int) -> int:
        del part
        return len(data["created"])

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return list(data["created"])

    def colleague(self, world: World, content: str) -> None:
        world.by_hand("tables", "id", **self.filled(world, {"Stage": "Open"}))


class OnRecord(OnTable):
    """A write to its own record."""

    async def prepare(self, world: World, content: str) -> None:
        records = world.act("tables", "id", **self.filled(world, {"Name": f"target of {content}"}))
        world.targets["record", content] = records

    def record(self, world: World, content: str) -> Any:
        """Return the record."""
        return self.table(world).records[world.targets["record", content]]


class UpdateRecord(OnRecord):
    """Return its name."""

    twins = False
    overwriting = r"PATCH .*"

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        path = f"/records/{world.targets['record', content]}"
        return "PATCH", path, {**self.location(world), "fields": {"Name": content}}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        record = self.record(world, content)
        return [CreatedObject(record.id)] if record.cells.get(self.field(world, "Name")) == content else []

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["record_id"]]


class AttachFile(OnRecord):
    """A file from a public link."""

    def request(self, world: World, content: str) -> tuple[str, str, Body]:
        body = {"record_id": world.targets["record", content], "field": world.example("tables", "attachment_field")}
        return "POST", "/attachments", {**body, "url": "https://files.example/logo.png", "filename": _file(content)}

    def created(self, world: World, content: str) -> Iterable[CreatedObject]:
        cell = self.field(world, world.example("tables", "attachment_field"))
        attached = self.record(world, content).cells.get(cell) or ()
        return [CreatedObject(one.id) for one in attached if one.filename == _file(content)]

    def returned_ids(self, data: Data) -> Sequence[str | None]:
        return [data["attachment_id"]]


def _file(content: str) -> str:
    return f"{content}.png"


class PublicFiles:
    """Files behind public links, without a network."""

    async def fetch(self, url: str, keep_bytes: int) -> RemoteFile:
        """Return the same small picture for every URL."""
        del url, keep_bytes
        content = b"\x89PNG\r\n\x1a\n" + bytes(100)
        return RemoteFile("logo.png", "image/png", len(content), content)


KINDS: Mapping[str, Kind] = {
    "notes.create_page": CreatePage(),
    "notes.create_long_page": CreatePage(150),
    "notes.create_vague_page": CreateVaguePage(),
    "notes.update_page": UpdatePage(),
    "notes.rename_page": RenamePage(),
    "boards.create_card": CreateCard(),
    "boards.move_card": MoveCard(),
    "boards.comment_on_card": CommentOnCard(),
    "boards.attach_checklist": AttachChecklist(),
    "mail.send_message": SentMail("/messages"),
    "mail.create_draft": SentMail("/drafts"),
    "mail.change_message_labels": ChangeLabels(),
    "chat.post_message": PostMessage(),
    "chat.edit_message": EditMessage(),
    "chat.add_reaction": AddReaction(),
    "crm.create_or_update_contact": WriteContact(),
    "crm.create_deal": CreateDeal(),
    "crm.update_deal": UpdateDeal(),
    "tables.create_records": CreateRecords(),
    "tables.create_vague_record": CreateVagueRecord(),
    "tables.update_record": UpdateRecord(),
    "tables.attach_file": AttachFile(),
}
"""Every write operation; two of notes and one of tables in several forms."""


def by_hand(kind: Kind) -> bool:
    """Return True if a colleague can create an equal object."""
    return type(kind).colleague is not Kind.colleague
