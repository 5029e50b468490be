"""The account itself."""

from workspace_sandbox.mail.methods import Answer, Ask, MailServices


def get_profile(_: MailServices, ask: Ask) -> Answer:
    """Address and size of the mailbox."""
    box = ask.mailbox
    return {
        "emailAddress": box.address,
        "messagesTotal": len(box.messages),
        "threadsTotal": len(box.threads),
        "historyId": str(box.history_id),
    }
