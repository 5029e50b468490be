"""Comments of the notes emulator."""

from sandbox.tests.notes.notes_client import Notes, paragraph, text

COMMENTS = "/v1/comments"


def test_a_page_comment_is_answered_in_the_same_discussion(notes: Notes) -> None:
    page = notes.create({})
    first = notes.request("POST", COMMENTS, {"parent": {"page_id": page["id"]}, "rich_text": text("Ready?")})
    response = {"discussion_id": first["discussion_id"], "rich_text": text("Ready.")}

    second = notes.request("POST", COMMENTS, response)
    listed = notes.request("GET", f"{COMMENTS}?block_id={page['id']}")

    assert [first["id"], second["id"]] == [comment["id"] for comment in listed["results"]]
    assert ("comment", first["discussion_id"]) == (second["object"], second["discussion_id"])
    assert {"type": "page_id", "page_id": page["id"]} == second["parent"]
    assert "Ready." == second["rich_text"][0]["plain_text"]


def test_a_block_has_its_own_comments(notes: Notes) -> None:
    page = notes.create({}, children=[paragraph("A claim")])
    (block,) = notes.request("GET", f"/v1/blocks/{page['id']}/children")["results"]
    created = notes.request("POST", COMMENTS, {"parent": {"block_id": block["id"]}, "rich_text": text("Source?")})
    (listed,) = notes.request("GET", f"{COMMENTS}?block_id={block['id']}")["results"]

    assert (created["id"], {"type": "block_id", "block_id": block["id"]}) == (listed["id"], listed["parent"])
    assert [] == notes.request("GET", f"{COMMENTS}?block_id={page['id']}")["results"]


def test_comments_are_paged(notes: Notes) -> None:
    page = notes.create({})
    body = {"parent": {"page_id": page["id"]}, "rich_text": text("again")}
    comment_ids = [notes.request("POST", COMMENTS, body)["id"] for _ in range(3)]
    first = notes.request("GET", f"{COMMENTS}?block_id={page['id']}&page_size=2")

    rest = notes.request("GET", f"{COMMENTS}?block_id={page['id']}&start_cursor={first['next_cursor']}")

    assert comment_ids == [comment["id"] for comment in [*first["results"], *rest["results"]]]
    assert (True, False) == (first["has_more"], rest["has_more"])


def test_a_comment_needs_exactly_one_parent(notes: Notes) -> None:
    page, nowhere = notes.create({}), "00000000-0000-4000-8000-000000000000"
    neither = notes.error("POST", COMMENTS, {"rich_text": text("?")})
    both = {"parent": {"page_id": page["id"]}, "discussion_id": nowhere, "rich_text": text("?")}

    assert (400, "validation_error") == neither[:2]
    assert (400, "validation_error") == notes.error("POST", COMMENTS, both)[:2]
    assert (404, "object_not_found") == notes.error(
        "POST", COMMENTS, {"discussion_id": nowhere, "rich_text": text("?")}
    )[:2]
    assert (404, "object_not_found") == notes.error("GET", f"{COMMENTS}?block_id={nowhere}")[:2]


def test_a_connection_updates_and_deletes_its_own_comment(notes: Notes) -> None:
    page = notes.create({})
    comment = notes.request("POST", COMMENTS, {"parent": {"page_id": page["id"]}, "rich_text": text("Draft")})
    path = f"{COMMENTS}/{comment['id']}"
    theirs = notes.perform(action="comment", page_id=page["id"], text="A person's").json()["comment_id"]
    changed = notes.request("PATCH", path, {"rich_text": text("Final")})
    read = notes.request("GET", path)
    notes.request("DELETE", path)

    assert "Final" == changed["rich_text"][0]["plain_text"] == read["rich_text"][0]["plain_text"]
    assert (404, "object_not_found") == notes.error("GET", path)[:2]
    assert (403, "restricted_resource") == notes.error("DELETE", f"{COMMENTS}/{theirs}")[:2]
    assert "user" == notes.request("GET", f"{COMMENTS}/{theirs}")["display_name"]["type"]
