"""The vocabulary for writing connectors. It imports nothing else of the gateway."""

VERSION = 1
"""The version of the public modules.

It rises when a public name is removed, or changes so that a connector may stop working. A release that raises it says
so in the changelog. New names, and new fields with a default, do not raise it.
"""

PUBLIC_MODULES = (
    "casts",
    "clock",
    "concurrent_reads",
    "context",
    "errors",
    "errors.combined_errors",
    "errors.suggestions",
    "errors.vendor_error_table",
    "events",
    "identifier_urls",
    "models",
    "oauth",
    "operation",
    "pagination",
    "passthrough",
    "upstream.budget",
    "upstream.client",
    "upstream.http_origin",
    "upstream.memory_budget",
    "upstream.pool",
    "vendor_model",
    "write_steps",
)
"""The modules that connectors may import. The others belong to the core, and can change in any release."""
