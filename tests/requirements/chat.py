"""What is promised of the chat connector."""

from requirements.requirement import section

UNOBSERVED = "Nothing is observed yet: the feed of events is an empty page."

CHAT = (
    *section(
        "interface §2.5",
        ("chat:messages:posted", "A posted message has identifier, channel, permalink and instant."),
        ("chat:messages:edited", "An edited message has identifier, channel and instant."),
        ("chat:channels:fields", "A channel has identifier, name, whether private, and number of members."),
        ("chat:reactions:fields", "A reaction has message, emoji and whether it was there before."),
        ("chat:events:fields", "An event has identifier, type, channel, author, text, keyword, instant.", UNOBSERVED),
    ),
    *section(
        "interface §4.4",
        ("chat:messages:channel", "A channel goes by its identifier or its name."),
        ("chat:messages:private", "A private channel works once the app is invited."),
        ("chat:messages:markup", "A text keeps the application's markup."),
        ("chat:messages:thread", "A message with a parent is a reply in its thread."),
        ("chat:messages:idempotency", "A repeated key returns the first message and posts no second one."),
        ("chat:messages:edit", "A message of ours gets another text."),
        ("chat:messages:edit-channel", "A message is looked for in the given channel only."),
        ("chat:channels:postable", "The channels that the connection can post into are listed."),
        ("chat:channels:types", "Channels are listed by type; public and private ones unless told."),
        ("chat:channels:limit", "A page has 1 to 200 channels, 100 unless told."),
        ("chat:channels:cursor", "A listing goes on at its cursor."),
        ("chat:reactions:add", "An emoji is added to a message by its short name."),
        ("chat:events:page", "Events are read in pages with a cursor."),
        ("chat:events:limit", "A page has 1 to 200 events, 50 unless told."),
        ("chat:events:parameters", "What is no instant is refused."),
        ("chat:events:channel", "Events are of one channel when one is named, else of all watched.", UNOBSERVED),
        ("chat:events:since", "Only events since the given instant are read.", UNOBSERVED),
    ),
    *section(
        "interface §6",
        ("chat:events:keyword", "A message with a keyword in a watched channel is observed.", UNOBSERVED),
        ("chat:events:retention-paid", "On paid plans events are kept for 30 days."),
    ),
    *section(
        "decisions: chat",
        ("chat:channels:names", "A channel may be named with a hash, and a person in place of a direct message."),
        ("chat:channel-not-found", "An unknown or uninvited private channel is 404 channel_not_found."),
        ("chat:not-in-channel", "A channel that the app is no member of is 403 not_in_channel."),
        ("chat:messages:length", "A post takes 40000 characters, an edit 4000; more is 422."),
        ("chat:messages:not-author", "Editing someone else's message is 403 not_message_author."),
        ("chat:messages:not-found", "An unknown message is 404 message_not_found."),
        ("chat:reactions:colons", "An emoji may stand between colons."),
        ("chat:reactions:not-found", "An unknown emoji is 404 emoji_not_found."),
        ("chat:watching:settings", "Keywords and watched channels are settings of the connection."),
        ("chat:watching:default", "Unless told, every channel that the app is in is watched.", UNOBSERVED),
        ("chat:watching:posted", "Without keywords every message is observed as message.posted.", UNOBSERVED),
        ("chat:watching:words", "Whole words match in any case, one event per message and keyword.", UNOBSERVED),
        ("chat:events:retention-free", "On the free plan events are kept for 7 days."),
    ),
)
