"""Watches of mailboxes, which expire after a week."""

import re

from workspace_sandbox.mail.data.pubsub import Watch
from workspace_sandbox.mail.error_responses import invalid
from workspace_sandbox.mail.request import ApiRequest, MailServices, ResponseBody

WEEK = 7 * 86_400.0
TOPIC = re.compile(r"projects/[a-z][a-z0-9-]{4,28}[a-z0-9]/topics/[A-Za-z][\w.~+%-]{2,254}", re.ASCII)


def watch(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Watch the mailbox for a week. The first notification is published immediately."""
    topic, label_ids = request.body.get("topicName", ""), request.body.get("labelIds", [])
    if not TOPIC.fullmatch(topic):
        raise invalid("Invalid topicName does not match projects/<project>/topics/*")
    unknown = next((label_id for label_id in label_ids if label_id not in request.mailbox.labels), None)
    if unknown is not None:
        raise invalid(f"Invalid label: {unknown}")
    behaviour = request.body.get("labelFilterBehavior", request.body.get("labelFilterAction", "include"))
    now, box, topics = services.transport.now(), request.mailbox, services.transport.topics
    new_watch = Watch(topic, frozenset(label_ids), behaviour.lower() == "exclude", now + WEEK)
    topics.watches[box.address] = new_watch
    topics.publish(topic, box, now)
    return {"historyId": str(box.history_id), "expiration": str(int(new_watch.expires_at * 1000))}


def stop(services: MailServices, request: ApiRequest) -> ResponseBody:
    """End the watch."""
    services.transport.topics.watches.pop(request.mailbox.address, None)
    return None
