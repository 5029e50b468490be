"""Watches of mailboxes: begun, begun again every week, and ended."""

import re

from workspace_sandbox.mail.methods import Answer, Ask, MailServices
from workspace_sandbox.mail.refusals import invalid
from workspace_sandbox.mail.topics import Watch

WEEK = 7 * 86_400.0
TOPIC = re.compile(r"projects/[a-z][a-z0-9-]{4,28}[a-z0-9]/topics/[A-Za-z][\w.~+%-]{2,254}", re.ASCII)


def watch(desk: MailServices, ask: Ask) -> Answer:
    """Watch the mailbox for a week; one notification comes at once."""
    topic, label_ids = ask.body.get("topicName", ""), ask.body.get("labelIds", [])
    if not TOPIC.fullmatch(topic):
        raise invalid("Invalid topicName does not match projects/<project>/topics/*")
    unknown = next((label_id for label_id in label_ids if label_id not in ask.mailbox.labels), None)
    if unknown is not None:
        raise invalid(f"Invalid label: {unknown}")
    behaviour = ask.body.get("labelFilterBehavior", ask.body.get("labelFilterAction", "include"))
    now, box, topics = desk.office.now(), ask.mailbox, desk.office.topics
    made = Watch(topic, frozenset(label_ids), behaviour.lower() == "exclude", now + WEEK)
    topics.watches[box.address] = made
    topics.publish(topic, box, now)
    return {"historyId": str(box.history_id), "expiration": str(int(made.until * 1000))}


def stop(desk: MailServices, ask: Ask) -> Answer:
    """Watch no more."""
    desk.office.topics.watches.pop(ask.mailbox.address, None)
    return None
