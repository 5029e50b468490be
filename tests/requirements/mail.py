"""What is promised of the mail connector."""

from requirements.requirement import promised

MAIL = promised(
    # Search messages
    ("mail-1", "mail:search:syntax", "Messages are found in the provider's own search syntax."),
    (
        "mail-2",
        "mail:search:fields",
        "A message has identifier, thread, sender, subject, instant, labels, has_attachments.",
    ),
    ("mail-3", "mail:search:body", "The body comes only when asked for."),
    ("mail-4", "mail:search:body-forms", "A body has a text and an HTML form."),
    ("mail-5", "mail:search:body-parts", "A body holds all its parts in order."),
    ("mail-6", "mail:attachments:listed", "Attachments are listed beside the body."),
    ("mail-7", "mail:search:limit", "A page has 1 to 100 messages, 25 unless told."),
    ("mail-8", "mail:search:cursor", "A search goes on at its cursor."),
    ("mail-41", "mail:search:short-pages", "A page with large bodies ends early and goes on at its cursor."),
    ("mail-42", "mail:search:too-large", "A message that is too large says so in place of its body."),
    # Send a message
    ("mail-9", "mail:send:from", "A message is sent from the connected address."),
    ("mail-10", "mail:send:fields", "A sent message has identifier, thread, recipients and instant."),
    ("mail-11", "mail:send:validated", "Every recipient is validated before anything is sent."),
    (
        "mail-12",
        "mail:send:invalid-recipient",
        "Bad recipients are 422 invalid_recipient, all of them named, nothing sent.",
    ),
    ("mail-13", "mail:send:plain-text", "A message has a plain text beside its HTML."),
    ("mail-14", "mail:send:thread", "A message is sent into a given thread."),
    ("mail-15", "mail:send:subject-of-reply", "A reply keeps the original subject, whatever else is given."),
    ("mail-16", "mail:send:reply-headers", "A reply names the message it answers, and those before it."),
    ("mail-17", "mail:send:thread-not-found", "An unknown thread is 404 thread_not_found."),
    ("mail-18", "mail:send:two-phases", "A message is drafted and then sent, and never sent twice."),
    ("mail-19", "mail:send:refused", "A message that is refused leaves no draft, or names it, and its key is free."),
    ("mail-20", "mail:send:large", "A message above 1 MB is sent through the upload address."),
    # Change labels
    ("mail-21", "mail:labels:add-remove", "Labels are applied and stripped by their names."),
    ("mail-22", "mail:labels:fields", "A change of labels tells the message's labels afterwards and those created."),
    ("mail-23", "mail:labels:create-missing", "Labels that the mailbox lacks are created when that is asked for."),
    (
        "mail-24",
        "mail:labels:not-found",
        "A label to apply that the mailbox lacks is 404 label_not_found, nothing changed.",
    ),
    ("mail-25", "mail:labels:nothing-to-strip", "A label to strip that the mailbox lacks is passed over."),
    ("mail-26", "mail:half-done", "A draft or label that was made before something else failed is told."),
    # Fetch an attachment
    ("mail-27", "mail:attachments:message", "An attachment is fetched by its message and identifier."),
    ("mail-28", "mail:attachments:fields", "An attachment has identifier, name, type, size, address and expiry."),
    (
        "mail-29",
        "mail:attachments:ids",
        "An attachment's identifier begins with att_ and is the same at every reading.",
    ),
    ("mail-30", "mail:attachments:vendor-ids", "The application's own identifier of an attachment is taken too."),
    ("mail-31", "mail:attachments:as", "An attachment comes as a link unless its content is asked for."),
    ("mail-32", "mail:attachments:base64", "As base64 the content replaces address and expiry."),
    ("mail-33", "mail:links:address", "A link stands below the download base and is signed."),
    ("mail-34", "mail:links:lifetime", "A link lasts 15 minutes, for any number of downloads."),
    ("mail-35", "mail:links:streamed", "A link passes the file on as a download under its name."),
    ("mail-40", "downloads:bounded", "Downloads are bounded, and cut and told as interrupted when nobody reads."),
    ("mail-36", "mail:links:invalid", "A forged or expired link is 404."),
    # Create a draft
    ("mail-37", "mail:drafts:create", "A draft is created with recipients, subject and body."),
    ("mail-38", "mail:drafts:fields", "A draft has its identifier, that of its message, and instant."),
    ("mail-39", "mail:drafts:unsent", "Creating a draft sends nothing."),
)
