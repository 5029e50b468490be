"""Databases and their data sources."""

from collections.abc import Iterable, Sequence

from connector_gateway.connectors.notes import vendor_models
from connector_gateway.connectors.notes.mapping.properties import no_property
from connector_gateway.connectors.notes.models import NotesDatabase
from connector_gateway.connectors.notes.value_casts.from_vendor import plain_text
from connector_gateway.kit.errors import AmbiguousDatabase, UpstreamUnexpected
from connector_gateway.kit.errors.combined_errors import combine_errors


def databases(sources: Iterable[vendor_models.DataSource]) -> list[NotesDatabase]:
    """Return the databases of *sources*, each once, last edited first.

    Each has the properties of all its sources, and the title of the first.
    """
    grouped: dict[str, list[vendor_models.DataSource]] = {}
    for source in sources:
        if not source.in_trash:
            grouped.setdefault(database_id(source), []).append(source)
    results = [database(uid, parts) for uid, parts in grouped.items()]
    return sorted(results, key=lambda item: (item.last_edited_at, item.database_id), reverse=True)


def database_id(source: vendor_models.DataSource) -> str:
    """Return the id of the database that a data source belongs to."""
    if source.parent.database_id is None:
        raise UpstreamUnexpected("The vendor lists a data source without its database.")
    return source.parent.database_id


def database(database_id: str, sources: Sequence[vendor_models.DataSource]) -> NotesDatabase:
    """Return the database of *sources*, with the title of the first."""
    names = dict.fromkeys(name for source in sources for name in source.properties)
    return NotesDatabase(
        database_id=database_id,
        title=plain_text(sources[0].title),
        properties=list(names),
        last_edited_at=max(source.last_edited_time for source in sources),
    )


def choose_source(sources: Sequence[vendor_models.DataSource], names: Iterable[str]) -> vendor_models.DataSource:
    """Return the only source, or the first that has all of *names*.

    Raises ``PropertyNotFound`` with the names that no source has, otherwise ``AmbiguousDatabase`` with the sources.
    """
    requested = dict.fromkeys(names)
    for source in sources:
        if len(sources) == 1 or requested.keys() <= source.properties.keys():
            return source
    available = dict.fromkeys(name for source in sources for name in source.properties)
    unknown = [name for name in requested if name not in available]
    if unknown:
        raise combine_errors([no_property(name, available) for name in unknown])
    raise AmbiguousDatabase(
        "The database has several data sources, and no single one has all these properties.",
        *({"data_source": plain_text(source.title), "properties": list(source.properties)} for source in sources),
    )


def sources_with(sources: Sequence[vendor_models.DataSource], name: str) -> list[vendor_models.DataSource]:
    """Return all sources that have a property of that name. Raises ``PropertyNotFound`` if there is none."""
    matches = [source for source in sources if name in source.properties]
    if not matches:
        available = dict.fromkeys(available for source in sources for available in source.properties)
        raise combine_errors([no_property(name, available)])
    return matches
