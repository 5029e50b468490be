"""What is promised of the crm connector."""

from requirements.requirement import promised

CRM = promised(
    # Create or update a contact
    ("crm-1", "crm:contacts:upsert", "A contact is created, or the one with that email updated."),
    (
        "crm-2",
        "crm:contacts:written",
        "A written contact has identifier, action, email, properties written and portal.",
    ),
    ("crm-3", "crm:contacts:match-key", "An email matches trimmed and in any case."),
    ("crm-4", "crm:contacts:properties", "Properties are written by internal name, custom ones included."),
    ("crm-5", "crm:contacts:on-conflict", "An existing contact is updated unless skip is asked for."),
    ("crm-6", "crm:contacts:skipped", "A skipped contact is untouched: action skipped, nothing written."),
    ("crm-7", "crm:contacts:company", "A contact is linked to a company by domain or identifier."),
    ("crm-8", "crm:contacts:create-company", "A company that no domain has is created when that is asked for."),
    ("crm-9", "crm:contacts:company-not-found", "Otherwise it is 404 company_not_found, before anything is written."),
    (
        "crm-47",
        "crm:contacts:company-just-made",
        "A company that this process just created is used while search and lists do not show it.",
    ),
    (
        "crm-54",
        "crm:contacts:value-kept",
        "A property whose value the portal does not take over is named in a Warning.",
    ),
    ("crm-55", "crm:deals:owner", "The owner of a deal is set by address or id."),
    ("crm-53", "crm:contacts:round-trip", "A value that a lookup returns can be written back."),
    ("crm-4", "crm:contacts:null", "Null restores what a new contact has, for every type."),
    # Look up contacts
    ("crm-10", "crm:contacts:by-email", "Contacts are looked up by exact email."),
    ("crm-11", "crm:contacts:by-property", "Contacts are looked up by the value of a property."),
    ("crm-12", "crm:contacts:half-filter", "A property without a value, or the reverse, is 422."),
    ("crm-13", "crm:contacts:unfiltered", "A look-up without a filter lists contacts."),
    ("crm-14", "crm:contacts:found", "A contact that is found has identifier, email and properties by their names."),
    ("crm-15", "crm:contacts:common", "Contacts carry common properties, owner_email and the property matched."),
    ("crm-16", "crm:contacts:limit", "A page has 1 to 100 contacts, 25 unless told."),
    ("crm-17", "crm:contacts:cursor", "A look-up goes on at its cursor."),
    # Create a deal
    ("crm-18", "crm:deals:create", "A deal is opened in a stage of a pipeline."),
    ("crm-19", "crm:deals:created", "A new deal has identifier, name, pipeline, stage, amount and contacts."),
    ("crm-20", "crm:deals:pipeline", "A pipeline goes by name or identifier; 404 if there is none."),
    (
        "crm-21",
        "crm:deals:pipeline-ambiguous",
        "A name of several pipelines is 409 ambiguous_pipeline with their identifiers.",
    ),
    ("crm-22", "crm:deals:stage", "A stage goes by name or identifier within its pipeline."),
    ("crm-23", "crm:deals:amount", "An amount is a decimal number."),
    ("crm-24", "crm:deals:contact", "A deal is associated with a contact."),
    # Update a deal
    ("crm-25", "crm:deals:move", "A deal moves to a stage of its pipeline."),
    ("crm-26", "crm:deals:only-sent", "An update changes only the properties sent."),
    ("crm-27", "crm:deals:note", "A note is logged on the deal with the change."),
    ("crm-28", "crm:deals:updated", "A changed deal has identifier, both stages, note_logged and instant."),
    ("crm-29", "crm:deals:note-failed", "A change stands even if its note fails."),
    ("crm-30", "crm:deals:note-in-doubt", "A note that may still come is never told not to be logged."),
    ("crm-31", "crm:deals:stage-before", "A repeat tells the stage that the deal had before the first call."),
    # List properties
    ("crm-32", "crm:properties:list", "The properties of contacts, companies or deals are listed, without a cursor."),
    ("crm-33", "crm:properties:fields", "A property has name, label, type, options, and whether it is custom."),
    ("crm-34", "crm:properties:custom", "Only the portal's own properties are listed when asked for."),
    # Errors
    ("crm-35", "crm:property-not-found", "An unknown property is 404 property_not_found with those there are."),
    ("crm-36", "crm:option-missing", "An unknown option is 409 option_missing with those there are."),
    ("crm-37", "crm:stage-not-found", "An unknown stage is 404 stage_not_found with the pipeline's stages."),
    (
        "crm-45",
        "crm:all-faults",
        "Everything wrong with properties, pipeline and stage is in one answer, each with its code.",
    ),
    (
        "crm-46",
        "crm:vendor-reason",
        "A refusal of the portal's carries its code and sentence, for each property it names.",
    ),
    ("crm-48", "crm:owners:options", "Owner properties list the addresses of owners as options."),
    ("crm-49", "crm:unique-value-taken", "A unique value of another record is named with that record."),
    ("crm-50", "crm:owners:unknown", "An unknown owner is rejected with the nearest addresses first."),
    ("crm-51", "crm:owners:write", "An owner is set by address or id, also as owner_email."),
    ("crm-52", "crm:look-up:label", "An option is looked up by value or label; what is no option brings a warning."),
    # Writes in doubt
    ("crm-38", "crm:once:first-body", "A repeat in doubt returns what the first body made, whatever it says itself."),
    ("crm-39", "crm:once:nobody-elses", "What a person, another application or another key made is never returned."),
    ("crm-40", "crm:once:two-keys", "Two keys with one content own one object each, across a restart as well."),
    ("crm-41", "crm:once:slow", "A request slower than the time-out, or than an edge, is carried out once."),
    ("crm-42", "crm:once:shape", "An accepted answer of another shape is a doubt; a repeat makes nothing twice."),
    ("crm-43", "crm:once:listings", "A listing that is cut off or behind the times is not taken for nothing there."),
    ("crm-44", "crm:once:told", "What was done before a refusal is told in its details, and gone on from."),
)
