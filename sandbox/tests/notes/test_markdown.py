"""Pages of the notes emulator as Markdown, with the vendor's library."""

from typing import Any

import pytest
from notion_client import Client

from sandbox.tests.notes.notes_client import VERSION, Notes, paragraph, text

MARKDOWN = """# Plan
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


def test_the_sdk_writes_and_reads_a_page_as_markdown(notes: Notes) -> None:
    with Client(base_url=notes.address, auth=notes.emulator.credentials()["token"], notion_version=VERSION) as sdk:
        pages: Any = sdk.pages
        page = pages.create(parent={"page_id": notes.examples["page_id"]}, markdown=f"# Title\n\n{MARKDOWN}")
        read = pages.retrieve_markdown(page_id=page["id"])
        pages.update_markdown(page_id=page["id"], type="insert_content", insert_content={"content": "The end"})
        longer = pages.retrieve_markdown(page_id=page["id"])["markdown"]
        pages.update_markdown(page_id=page["id"], type="replace_content", replace_content={"new_str": "- Anew"})
        replaced = pages.retrieve_markdown(page_id=page["id"])["markdown"]

    assert "Title" == page["properties"]["title"]["title"][0]["plain_text"]
    assert ("page_markdown", False, []) == (read["object"], read["truncated"], read["unknown_block_ids"])
    assert (MARKDOWN, f"{MARKDOWN}\nThe end", "- Anew") == (read["markdown"], longer, replaced)


def test_blocks_are_rendered_or_marked_as_unknown(notes: Notes) -> None:
    children = [
        {"toggle": {"rich_text": text("More")}},
        {"callout": {"rich_text": text("Note")}},
        {"equation": {"expression": "x"}},
        {"image": {"external": {"url": "https://example.com/a.png"}}},
        {"table": {"table_width": 1, "children": [{"table_row": {"cells": [text("cell")]}}]}},
        {"bookmark": {"url": "https://example.com"}},
    ]
    page = notes.create({}, children=[*children, paragraph("")])
    document = notes.request("GET", f"/v1/pages/{page['id']}/markdown")
    bookmark = notes.request("GET", f"/v1/blocks/{page['id']}/children")["results"][5]["id"]

    assert [bookmark] == document["unknown_block_ids"]
    assert [
        *("<details>", "<summary>More</summary>", "</details>", '<callout icon="💡">', "\tNote", "</callout>"),
        *("$$", "x", "$$", "![](https://example.com/a.png)", "\t| cell |"),
        f'<unknown url="https://app.notion.com/p/{bookmark.replace("-", "")}" alt="bookmark"/>',
        "",
    ] == document["markdown"].split("\n")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "insert_content"},
        {"type": "insert_content", "insert_content": {"content": 5}},
        {"type": "update_content", "update_content": {"content_updates": []}},
    ],
)
def test_other_updates_are_rejected(notes: Notes, body: dict[str, Any]) -> None:
    assert 400 == notes.error("PATCH", f"/v1/pages/{notes.examples['page_id']}/markdown", body)[0]
