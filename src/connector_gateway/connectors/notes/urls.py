"""How the application's own addresses show which page or database they lead to."""

HOST = r"(?:(?:www\.|app\.)?notion\.(?:so|com)|[\w-]+\.notion\.site)"
ID = r"([0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12})"
END = r"(?:[?#].*)?"

PAGE = (
    # A page that is open beside its database is named in the query.
    rf"{HOST}/[^?#]*\?(?:[^#]*&)?p={ID}(?:[&#].*)?",
    rf"{HOST}/(?:[^?#]*[/-])?{ID}{END}",
)
DATABASE = (rf"{HOST}/(?:[^?#]*[/-])?{ID}{END}",)
