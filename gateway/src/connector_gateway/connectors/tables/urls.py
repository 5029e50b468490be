"""Patterns of the vendor's URLs of bases, tables, views and records."""

BASE_ID = r"app[A-Za-z0-9]+"
HOST = r"(?:www\.)?airtable\.com"
REST = r"(?:[/?#].*)?"

BASE = (rf"{HOST}/({BASE_ID}){REST}",)
TABLE = (rf"{HOST}/{BASE_ID}/(tbl[A-Za-z0-9]+){REST}",)
VIEW = (rf"{HOST}/{BASE_ID}/tbl[A-Za-z0-9]+/(viw[A-Za-z0-9]+){REST}",)
RECORD = (rf"{HOST}/{BASE_ID}/tbl[A-Za-z0-9]+/(?:viw[A-Za-z0-9]+/)?(rec[A-Za-z0-9]+){REST}",)
