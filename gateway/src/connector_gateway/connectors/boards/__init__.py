"""boards: a kanban card board."""

from connector_gateway.connectors.boards import client, operations
from connector_gateway.connectors.boards.oauth import OAUTH, identify, revoke_token
from connector_gateway.connectors.boards.vendor_errors import ERRORS, PRESCRIBED_REMEDIES
from connector_gateway.kit.operation import Connector, SampleCall

UNREAD_FIELDS = frozenset(
    {
        *("attachments", "badges", "board", "cardRole", "checkItemStates", "closed", "color", "cover"),
        *("dateCreated", "dateLastActivity", "desc", "descData", "due", "dueComplete", "dueReminder"),
        *("email", "id", "idAttachmentCover", "idBoard", "idCard", "idChecklist", "idChecklists"),
        *("identifier", "idLabels", "idList", "idMember", "idMembers", "idMembersVoted", "idModel"),
        *("idShort", "isTemplate", "labels", "limits", "list", "manualCoverAttachment", "memberCreator"),
        *("mirrorSourceId", "name", "nameData", "pinned", "pos", "shortLink", "shortUrl", "start"),
        *("state", "stickers", "subscribed", "textData", "type", "url"),
    }
)
"""The names of documented fields in the vendor models that are not read."""

BOARDS = Connector(
    name="boards",
    summary="Cards, lists, comments and checklists of kanban boards.",
    base_urls={"base": client.BASE_URL, "consent": client.CONSENT_URL, "site": client.SITE_URL},
    budgets={"token": client.TOKEN_BUDGET, "key": client.KEY_BUDGET, "members": client.MEMBER_BUDGET},
    auth_headers=client.authorise,
    client=client.BoardsClient,
    operations=(
        operations.create_card,
        operations.move_card,
        operations.comment_on_card,
        operations.describe_board,
        operations.attach_checklist,
    ),
    parse_throttle=client.parse_throttle,
    error_table=ERRORS,
    unread_fields=UNREAD_FIELDS,
    prescribed_remedies=PRESCRIBED_REMEDIES,
    settle_seconds=client.SETTLE_SECONDS,
    credentials=("key", "token"),
    oauth=OAUTH,
    identify=identify,
    revoke=revoke_token,
    passthrough=client.PASSTHROUGH,
    sample=SampleCall(
        "a card with labels by name and a due date in UTC",
        operations.create_card,
        lambda examples: {
            "list_id": examples["list_ids"][0],
            "name": "Fix the door 🚪",
            "due": "2026-12-01T10:00:00+01:00",
            "labels": examples["labels"],
        },
    ),
)
