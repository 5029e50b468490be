"""The account itself: its size, and the address it sends from."""

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


def list_send_as(_: Desk, ask: Ask) -> Answer:
    """The addresses the user may send from: only the own one."""
    own = {
        "sendAsEmail": ask.mailbox.address,
        "displayName": ask.mailbox.name,
        "replyToAddress": "",
        "signature": "",
        "isPrimary": True,
        "isDefault": True,
    }
    return {"sendAs": [own]}
