"""Pages of the notes stand-in as Markdown, with the vendor's library."""

from typing import Any

import pytest
from notion_client import Client

from sandbox.tests.notes.asking import VERSION, Notes, paragraph, text

TOLD = """# Plan
Say **this** and *that*, with `code` and [a link](https://example.com).
## Steps
- One
\t- Inner
1. First
- [x] Done
- [ ] Open
> Quoted
---
```python
if x:
    y = "**not bold**"
```"""


def test_a_page_is_written_and_read_as_markdown_with_the_sdk(notes: Notes) -> None:
    with Client(base_url=notes.address, auth=notes.emulator.credentials()["token"], notion_version=VERSION) as sdk:
        pages: Any = sdk.pages
        page = pages.create(parent={"page_id": notes.examples["page_id"]}, markdown=f"# Title\n\n{TOLD}")
        read = pages.retrieve_markdown(page_id=page["id"])
        pages.update_markdown(page_id=page["id"], type="insert_content", insert_content={"content": "The end"})
        longer = pages.retrieve_markdown(page_id=page["id"])["markdown"]
        pages.update_markdown(page_id=page["id"], type="replace_content", replace_content={"new_str": "- Anew"})
        anew = pages.retrieve_markdown(page_id=page["id"])["markdown"]

    assert "Title" == page["properties"]["title"]["title"][0]["plain_text"]
    assert ("page_markdown", False, []) == (read["object"], read["truncated"], read["unknown_block_ids"])
    assert (TOLD, f"{TOLD}\nThe end", "- Anew") == (read["markdown"], longer, anew)


def test_blocks_of_every_type_are_written_or_named_as_unknown(notes: Notes) -> None:
    given = [
        {"toggle": {"rich_text": text("More")}},
        {"callout": {"rich_text": text("Note")}},
        {"equation": {"expression": "x"}},
        {"image": {"external": {"url": "https://example.com/a.png"}}},
        {"table": {"table_width": 1, "children": [{"table_row": {"cells": [text("cell")]}}]}},
        {"bookmark": {"url": "https://example.com"}},
    ]
    page = notes.create({}, children=[*given, paragraph("")])
    told = notes.ask("GET", f"/v1/pages/{page['id']}/markdown")
    bookmark = notes.ask("GET", f"/v1/blocks/{page['id']}/children")["results"][5]["id"]

    assert [bookmark] == told["unknown_block_ids"]
    assert [
        *("<details>", "<summary>More</summary>", "</details>", '<callout icon="💡">', "\tNote", "</callout>"),
        *("$$", "x", "$$", "![](https://example.com/a.png)", "\t| cell |"),
        f'<unknown url="https://app.notion.com/p/{bookmark.replace("-", "")}" alt="bookmark"/>',
        "",
    ] == told["markdown"].split("\n")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "insert_content"},
        {"type": "insert_content", "insert_content": {"content": 5}},
        {"type": "update_content", "update_content": {"content_updates": []}},
    ],
)
def test_other_updates_are_refused(notes: Notes, body: dict[str, Any]) -> None:
    assert 400 == notes.refused("PATCH", f"/v1/pages/{notes.examples['page_id']}/markdown", body)[0]
