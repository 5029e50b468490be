"""What is promised of the chat connector."""

from requirements.requirement import promised

CHAT = promised(
    # Post a message
    ("chat-1", "chat:messages:posted", "A posted message has identifier, channel, permalink and instant."),
    ("chat-2", "chat:messages:channel", "A channel goes by its identifier or its name."),
    ("chat-3", "chat:channels:names", "A channel may be named with a hash, and a person in place of a direct message."),
    ("chat-4", "chat:messages:private", "A private channel works once the app is invited."),
    ("chat-5", "chat:messages:markup", "A text keeps the application's markup."),
    ("chat-6", "chat:messages:length", "A post takes 40000 characters, an edit 4000; more is 422."),
    ("chat-7", "chat:messages:thread", "A message with a parent is a reply in its thread."),
    ("chat-8", "chat:messages:reply-to-reply", "A reply to a reply goes to the thread of its root."),
    ("chat-9", "chat:messages:idempotency", "A repeated key returns the first message and posts no second one."),
    # Edit a message
    ("chat-10", "chat:messages:edit", "A message of ours gets another text."),
    ("chat-11", "chat:messages:edit-channel", "A message is looked for in the given channel only."),
    ("chat-12", "chat:messages:edited", "An edited message has identifier, channel and instant."),
    ("chat-13", "chat:messages:not-author", "Editing someone else's message is 403 not_message_author."),
    ("chat-14", "chat:messages:not-found", "An unknown message is 404 message_not_found."),
    # List channels
    ("chat-15", "chat:channels:postable", "The channels that the connection can post into are listed."),
    ("chat-16", "chat:channels:fields", "A channel has identifier, name, whether private, and number of members."),
    ("chat-17", "chat:channels:types", "Channels are listed by type; public and private ones unless told."),
    ("chat-18", "chat:channels:limit", "A page has 1 to 200 channels, 100 unless told."),
    ("chat-19", "chat:channels:cursor", "A listing goes on at its cursor."),
    # Add a reaction
    ("chat-20", "chat:reactions:add", "An emoji is added to a message by its short name."),
    ("chat-21", "chat:reactions:fields", "A reaction has message, emoji and whether it was there before."),
    ("chat-22", "chat:reactions:colons", "An emoji may stand between colons."),
    ("chat-23", "chat:reactions:not-found", "An unknown emoji is 404 emoji_not_found."),
    (
        "chat-24",
        "chat:reactions:own",
        "A reaction that a repeat completes counts as the call's own, and not as there before.",
    ),
    # Errors
    ("chat-25", "chat:channel-not-found", "An unknown or uninvited private channel is 404 channel_not_found."),
    ("chat-26", "chat:not-in-channel", "A channel that the app is no member of is 403 not_in_channel."),
    (
        "chat-27",
        "chat:channel-ambiguous",
        "A name of several channels is 409 ambiguous_channel with their identifiers.",
    ),
    ("chat-28", "chat:channel-archived", "An archived channel is 409 channel_archived."),
    # Read events
    ("chat-29", "chat:events:page", "Events are read in pages with a cursor."),
    ("chat-30", "chat:events:fields", "An event has identifier, type, channel, author, text, keyword, instant."),
    ("chat-31", "chat:events:channel", "Events are of one channel when one is named, else of all watched."),
    ("chat-32", "chat:events:since", "Only events since the given instant are read."),
    ("chat-33", "chat:events:type", "Only events of the given type are read."),
    ("chat-34", "chat:events:limit", "A page has 1 to 200 events, 50 unless told."),
    ("chat-35", "chat:events:parameters", "What is no instant is refused."),
    ("chat-36", "chat:events:retention-paid", "On paid plans events are kept for 30 days."),
    ("chat-37", "chat:events:retention-free", "On the free plan events are kept for 7 days."),
    # What is observed
    ("chat-38", "chat:events:keyword", "A message with a keyword in a watched channel is observed."),
    ("chat-39", "chat:watching:settings", "Keywords and watched channels are settings of the connection."),
    ("chat-40", "chat:watching:default", "Unless told, every channel that the app is in is watched."),
    ("chat-41", "chat:watching:posted", "Without keywords every message is observed as message.posted."),
    ("chat-42", "chat:watching:words", "Whole words match in any case, one event per message and keyword."),
    ("chat-43", "chat:events:own", "What the connection itself has posted is not observed."),
    ("chat-44", "chat:events:once", "A message is one event, however often and by whichever way it comes."),
    ("chat-45", "chat:events:push", "A message can be read once its delivery was acknowledged."),
    (
        "chat-46",
        "chat:events:beginning",
        "A message counts from when its channel is watched, also before that is heeded.",
    ),
    ("chat-47", "chat:events:gaps", "What deliveries missed is read from the history, or told to be missing."),
    ("chat-48", "chat:events:polled", "Without a signing secret messages are read from the history every period."),
    (
        "chat-49",
        "chat:events:revoked",
        "A delivered withdrawal marks the connection revoked, until a call or look succeeds.",
    ),
    # Deliveries
    ("chat-50", "chat:hook:verification", "The hook's address proves itself with the challenge."),
    ("chat-51", "chat:hook:signature", "A delivery unsigned, wrongly signed, or signed more than 300 s away is 401."),
    ("chat-52", "chat:hook:bodies", "A delivery that is no JSON object is 400, an oversized one 413; nothing is kept."),
    ("chat-53", "chat:hook:authorised", "Messages reach the app and the bot or user that a delivery names."),
    ("chat-54", "chat:hook:proven", "A connection is polled until a delivery or its consent proves its app."),
    ("chat-55", "chat:hook:withdrawn", "A withdrawal concerns the identities that it names, or one app of a team."),
    # Mentions
    ("chat-56", "chat:mentions", "Neutralised mentions are written as plain text."),
)
