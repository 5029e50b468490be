"""The tools of agents: the tokens of their list, and how often their descriptions lead to the right one."""

from collections.abc import Iterable

from mcp_types import ListToolsResult

from connector_gateway.connectors import CONNECTORS
from connector_gateway.mcp.tool_ranking import rank
from connector_gateway.mcp.tools import build_tools

MAX_TOKENS = 9_000
CHARACTERS_PER_TOKEN = 4
MIN_FIRST_PERCENT = 90

REQUESTS = {
    "notes_list_databases": (
        "Which Notion databases can you see?",
        "Find the Notion database called Roadmap and give me its id",
    ),
    "notes_create_page": (
        "Add a row to our Notion reading list: Dune, status To read",
        "Create a new page in the Projects database with a short summary in the body",
    ),
    "notes_update_page": (
        "Set the status of this Notion page to Done",
        "Move that old Notion page to the trash",
    ),
    "notes_search_pages": (
        "Find the Notion page whose Email is ada@example.com",
        "Which pages in the Tasks database have the status Blocked?",
    ),
    "notes_read_events": (
        "What changed in Notion since yesterday?",
        "Show me the pages that were created in Notion this week",
    ),
    "boards_create_card": (
        "Make a Trello card in the To do list called Fix login, due Friday",
        "Put a new card with the label Bug on the board's backlog list",
    ),
    "boards_move_card": (
        "Move the login card to Done",
        "Drag this Trello card to the top of the Doing list",
    ),
    "boards_comment_on_card": (
        "Leave a comment on the Trello card that the fix is deployed",
        "Comment 'waiting for legal' on this card",
    ),
    "boards_describe_board": (
        "What lists does our Trello board have?",
        "How many cards are in each column of the sprint board?",
    ),
    "boards_attach_checklist": (
        "Add a checklist with these five steps to the release card",
        "Attach an onboarding checklist to the Trello card",
    ),
    "mail_search_messages": (
        "Find the emails from Anna about the invoice",
        "Any unread mail from the bank this week?",
    ),
    "mail_send_message": (
        "Email bob@example.com that the meeting moved to 3 pm",
        "Reply to this email thread and say thanks",
    ),
    "mail_change_message_labels": (
        "Label this email as Receipts",
        "Take the Inbox label off that newsletter",
    ),
    "mail_fetch_attachment": (
        "Download the PDF attached to this email",
        "Get me the attachment of Anna's message",
    ),
    "mail_create_draft": (
        "Draft an email to the landlord, but don't send it",
        "Prepare a draft to the supplier that I can check before it goes out",
    ),
    "chat_post_message": (
        "Post in #general that the deploy is finished",
        "Send a Slack message to the design channel",
    ),
    "chat_edit_message": (
        "Fix the typo in the Slack message you just posted",
        "Change the text of my last message in #releases",
    ),
    "chat_list_channels": (
        "Which Slack channels are there?",
        "List the private channels you can post to",
    ),
    "chat_add_reaction": (
        "React with a thumbs up to that message",
        "Add a :tada: emoji to the announcement in Slack",
    ),
    "chat_read_events": (
        "What did people write in #support today?",
        "Read the new Slack messages in the watched channels",
    ),
    "crm_create_or_update_contact": (
        "Add Jane Doe, jane@acme.com, to HubSpot as a contact",
        "Update the phone number of the contact bob@example.com",
    ),
    "crm_look_up_contacts": (
        "Look up the HubSpot contact with the email jane@acme.com",
        "Which contacts belong to the owner sam@example.com?",
    ),
    "crm_create_deal": (
        "Open a new deal worth 5000 in the sales pipeline",
        "Create a HubSpot deal for Acme in the qualified stage",
    ),
    "crm_update_deal": (
        "Move the Acme deal to closed won and log a note",
        "Change the amount of that HubSpot deal to 12000",
    ),
    "crm_list_properties": (
        "Which properties can a HubSpot contact have?",
        "What options does the lifecycle stage property have?",
    ),
    "tables_read_records": (
        "Show the records of the Inventory table in Airtable",
        "Read the rows in the view Overdue",
    ),
    "tables_create_records": (
        "Add these three rows to the Airtable table Leads",
        "Insert five new records into the Inventory base",
    ),
    "tables_update_record": (
        "Set the price of this Airtable record to 19.90",
        "Update the Status field of record recA1b2C3",
    ),
    "tables_attach_file": (
        "Attach the file at this link to the Airtable record",
        "Put the logo from https://example.com/logo.png into the record's attachment field",
    ),
    "tables_list_tables": (
        "Which tables and views are in this Airtable base?",
        "What columns does the Inventory table have?",
    ),
}
"""Requests in the words of users, by the tool that they need."""

TOOLS = {name: tool for name, tool in build_tools(CONNECTORS.values()).items() if tool.operation.permission is None}
"""The tools of keys without further permissions."""


def count_tokens() -> float:
    """Return the tokens of the complete list of tools."""
    tools = [tool.declaration for tool in TOOLS.values()]
    listed = ListToolsResult(tools=tools).model_dump_json(by_alias=True, exclude_none=True)
    return len(listed) / CHARACTERS_PER_TOKEN


def misranked() -> list[tuple[str, str, str]]:
    """Return the requests for which another tool ranks first: request, right tool, first tool."""
    texts = {name: tool.searchable_text for name, tool in TOOLS.items()}
    firsts = [(request, name, rank(request, texts)[0]) for name, requests in REQUESTS.items() for request in requests]
    return [(request, right, first) for request, right, first in firsts if first != right]


def percent_first() -> float:
    """Return the percentage of requests for which the right tool ranks first."""
    total = sum(map(len, REQUESTS.values()))
    return 100 * (total - len(misranked())) / total


def rows() -> Iterable[tuple[str, str, str, bool]]:
    """Yield a row per figure."""
    tokens, first = count_tokens(), percent_first()
    yield "tokens of all tools", f"{tokens:,.0f}", f"≤ {MAX_TOKENS:,}", tokens <= MAX_TOKENS
    yield "requests whose tool ranks first", f"{first:.0f} %", f"≥ {MIN_FIRST_PERCENT} %", first >= MIN_FIRST_PERCENT
