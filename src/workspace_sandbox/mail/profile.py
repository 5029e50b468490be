"""The account itself."""

from workspace_sandbox.mail.methods import Answer, Ask, Desk


def get_profile(_: Desk, ask: Ask) -> Answer:
    """Address and size of the mailbox."""
    box = ask.mailbox
    return {
        "emailAddress": box.address,
        "messagesTotal": len(box.messages),
        "threadsTotal": len(box.threads),
        "historyId": str(box.history_id),
    }
