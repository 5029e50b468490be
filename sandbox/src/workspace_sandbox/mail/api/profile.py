"""The profile of the account."""

from workspace_sandbox.mail.request import ApiRequest, MailServices, ResponseBody


def get_profile(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Return the address and size of the mailbox."""
    box = request.mailbox
    return {
        "emailAddress": box.address,
        "messagesTotal": len(box.messages),
        "threadsTotal": len(box.threads),
        "historyId": str(box.history_id),
    }
