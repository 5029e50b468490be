"""What is promised of the tables connector."""

from requirements.requirement import promised

TABLES = promised(
    # Read records
    ("tables-1", "tables:records:read", "Records of a table are read, the table by name or identifier."),
    ("tables-2", "tables:records:fields", "A record has identifier, fields by name, and instant of creation."),
    ("tables-3", "tables:records:view", "A view shows what its own filter lets through."),
    ("tables-4", "tables:records:limit", "A page has 1 to 100 records, 50 unless told."),
    ("tables-5", "tables:records:cursor", "A reading goes on at its cursor."),
    # Create records
    ("tables-6", "tables:records:create", "Up to ten records are created by one call."),
    ("tables-7", "tables:records:too-many", "More than ten records are 422 too_many_records, and none is created."),
    (
        "tables-8",
        "tables:records:batch",
        "A batch tells records created and failures with index, error, field and value.",
    ),
    ("tables-42", "tables:records:reason", "A record that the application refused is told with its own reason."),
    ("tables-9", "tables:records:partial", "A batch of which something failed is partial."),
    (
        "tables-10",
        "tables:records:checked-first",
        "Records are checked first; the good ones are created if others fail.",
    ),
    ("tables-11", "tables:records:all-failed", "If all fail, the answer is partial and nothing is created."),
    ("tables-12", "tables:records:failures", "A record fails for one of five reasons."),
    ("tables-46", "tables:records:warned", "A Warning has message and remedy of each record that was not created."),
    ("tables-41", "tables:records:all-faults", "Everything that is wrong with every record is told."),
    ("tables-13", "tables:records:new-options", "A select gains options only when that is allowed."),
    ("tables-14", "tables:records:options-only", "Allowing new options loosens no other cast."),
    (
        "tables-15",
        "tables:records:evidence",
        "Records count as a call's own if all are there, hold just what was asked for, and can be nobody else's.",
    ),
    ("tables-16", "tables:records:half-made", "Records that stand are told when the others fail, and come once."),
    # Update a record
    ("tables-17", "tables:records:update", "An update changes only the named fields."),
    ("tables-17", "tables:update:null", "Null restores what a new record has, for every type."),
    (
        "tables-18",
        "tables:records:updated",
        "A changed record has identifier, names of the fields written, and instant.",
    ),
    ("tables-19", "tables:records:read-only", "A computed field is refused."),
    ("tables-19", "tables:read-only-field", "A computed field is 422 read_only_field."),
    # Attach a file
    ("tables-20", "tables:attachments:attach", "A file behind a public link is attached to a record."),
    ("tables-21", "tables:attachments:fields", "An attachment has record, field, identifier, name and size."),
    ("tables-22", "tables:attachments:filename", "A file is called as told, else by the last part of its link."),
    ("tables-23", "tables:attachments:remembered", "A record seen before is found without asking its bases."),
    (
        "tables-24",
        "tables:attachments:searched",
        "A record never seen is looked for in the connection's bases, else 404.",
    ),
    (
        "tables-25",
        "tables:links:public-only",
        "Only http(s) links to public addresses are followed, by what is connected to.",
    ),
    ("tables-26", "tables:links:redirects", "Up to five redirects are followed, each checked anew."),
    ("tables-27", "tables:links:not-allowed", "A link that leads elsewhere is 422 url_not_allowed."),
    ("tables-28", "tables:links:unreachable", "A link that leads to nothing is 422 url_unreachable, with the reason."),
    ("tables-43", "tables:links:empty", "An empty file is 422 file_empty."),
    ("tables-44", "tables:update:round-trip", "Every value that a read returns can be written back."),
    ("tables-45", "tables:update:refused-field", "A refused value is named with its field."),
    ("tables-29", "tables:links:too-large", "A file above the limit is 413 file_too_large."),
    ("tables-30", "tables:links:by-address", "A file too large to upload is handed over by its address."),
    ("tables-31", "tables:links:type", "A file keeps its type."),
    (
        "tables-32",
        "tables:links:changed",
        "A file that has changed before it is sent again is told, and is not attached.",
    ),
    # List tables
    ("tables-33", "tables:tables:list", "The tables of a base are listed, without a cursor."),
    ("tables-34", "tables:tables:fields", "A table has name, identifier, primary field, fields with types, and views."),
    ("tables-35", "tables:tables:views", "Views come with the tables unless they are not wanted."),
    # Errors
    ("tables-36", "tables:base-not-found", "An unknown base is 404 base_not_found."),
    ("tables-37", "tables:table-not-found", "An unknown table is 404 table_not_found."),
    ("tables-38", "tables:view-not-found", "An unknown view is 404 view_not_found."),
    ("tables-39", "tables:record-not-found", "An unknown record is 404 record_not_found."),
    ("tables-40", "tables:field-not-found", "An unknown field is 404 field_not_found."),
)
