"""What is promised of the crm connector."""

from requirements.requirement import section

CRM = (
    *section(
        "interface §2.6",
        ("crm:contacts:written", "A written contact has identifier, action, email, properties written and portal."),
        ("crm:contacts:found", "A contact that is found has identifier, email and properties by their names."),
        ("crm:deals:created", "A new deal has identifier, name, pipeline, stage, amount and contacts."),
        ("crm:deals:updated", "A changed deal has identifier, both stages, note_logged and instant."),
        ("crm:properties:fields", "A property has name, label, type, options, and whether it is custom."),
    ),
    *section(
        "interface §4.5",
        ("crm:contacts:upsert", "A contact is created, or the one with that email updated."),
        ("crm:contacts:match-key", "An email matches trimmed and in any case."),
        ("crm:contacts:properties", "Properties are written by internal name, custom ones included."),
        ("crm:contacts:on-conflict", "An existing contact is updated unless skip is asked for."),
        ("crm:contacts:company", "A contact is linked to a company by domain or identifier."),
        ("crm:contacts:by-email", "Contacts are looked up by exact email."),
        ("crm:contacts:by-property", "Contacts are looked up by the value of a property."),
        ("crm:contacts:limit", "A page has 1 to 100 contacts, 25 unless told."),
        ("crm:contacts:cursor", "A look-up goes on at its cursor."),
        ("crm:deals:create", "A deal is opened in a stage of a pipeline."),
        ("crm:deals:pipeline", "A pipeline goes by name or identifier; 404 if there is none."),
        ("crm:deals:stage", "A stage goes by name or identifier within its pipeline."),
        ("crm:deals:amount", "An amount is a decimal number."),
        ("crm:deals:contact", "A deal is associated with a contact."),
        ("crm:deals:move", "A deal moves to a stage of its pipeline."),
        ("crm:deals:only-sent", "An update changes only the properties sent."),
        ("crm:deals:note", "A note is logged on the deal with the change."),
        ("crm:properties:list", "The properties of contacts, companies or deals are listed, without a cursor."),
        ("crm:properties:custom", "Only the portal's own properties are listed when asked for."),
    ),
    *section(
        "decisions: crm",
        ("crm:contacts:create-company", "A company that no domain has is created when that is asked for."),
        ("crm:contacts:company-not-found", "Otherwise it is 404 company_not_found, before anything is written."),
        ("crm:contacts:skipped", "A skipped contact is untouched: action skipped, nothing written."),
        ("crm:contacts:unfiltered", "A look-up without a filter lists contacts."),
        ("crm:contacts:half-filter", "A property without a value, or the reverse, is 422."),
        ("crm:contacts:common", "Contacts carry common properties, owner_email and the property matched."),
        ("crm:property-not-found", "An unknown property is 404 property_not_found with those there are."),
        ("crm:option-missing", "An unknown option is 409 option_missing with those there are."),
        ("crm:stage-not-found", "An unknown stage is 404 stage_not_found with the pipeline's stages."),
        ("crm:deals:note-failed", "A change stands even if its note fails."),
    ),
)
