"""What is promised of deliveries to webhooks."""

from requirements.requirement import promised

DELIVERIES = promised(
    ("deliveries-1", "webhooks:managed", "Webhooks are made, listed, shown, changed and removed by the operator."),
    ("deliveries-2", "webhooks:from-now-on", "A webhook begins with what is observed after it was made."),
    ("deliveries-2", "webhooks:whose", "A webhook is told the events of its workspace, or of one connection."),
    ("deliveries-9", "webhooks:types", "A webhook is told events of some types, or of all."),
    ("deliveries-3", "webhooks:message", "What is delivered is the event as its route tells it, and whose it is."),
    ("deliveries-11", "webhooks:described", "The document describes what is delivered."),
    ("deliveries-4", "webhooks:signed", "Every delivery is signed after the Standard Webhooks convention."),
    ("deliveries-4", "webhooks:secret", "A secret is shown once, and replaced with an overlap."),
    ("deliveries-5", "webhooks:at-least-once", "Every event is delivered at least once."),
    ("deliveries-5", "webhooks:order", "Events of a connection are delivered in their order."),
    ("deliveries-5", "webhooks:processes", "One process at a time delivers, and a dead one's work is taken over."),
    ("deliveries-6", "webhooks:retried", "What is not accepted is tried again, with pauses that grow."),
    ("deliveries-6", "webhooks:disabled", "A webhook that fails for three days, or is gone, is disabled, with a run."),
    (
        "deliveries-10",
        "webhooks:left-out",
        "An event is left out, with a run, once the next one is accepted after a day.",
    ),
    ("deliveries-7", "webhooks:replay", "Events are delivered again from an instant or an event on."),
    ("deliveries-8", "webhooks:guarded", "Nothing is delivered to private addresses, and no redirect is followed."),
    ("deliveries-8", "webhooks:slow", "A receiver that is slow is left, and keeps no others waiting."),
)
