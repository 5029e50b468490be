"""Patterns of the vendor's URLs of pages and databases."""

HOST = r"(?:(?:www\.|app\.)?notion\.(?:so|com)|[\w-]+\.notion\.site)"
ID = r"([0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12})"
END = r"(?:[?#].*)?"

PAGE = (
    # The query names a page that is open in front of its database.
    rf"{HOST}/[^?#]*\?(?:[^#]*&)?p={ID}(?:[&#].*)?",
    rf"{HOST}/(?:[^?#]*[/-])?{ID}{END}",
)
DATABASE = (rf"{HOST}/(?:[^?#]*[/-])?{ID}{END}",)
