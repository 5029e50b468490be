"""What is promised to agents."""

from requirements.requirement import promised

AGENTS = promised(
    ("mcp-1", "agents:protocol", "The protocol is spoken over HTTP, in its present version and in former ones."),
    ("mcp-2", "agents:bridge", "A command speaks it over standard input and output."),
    ("mcp-19", "agents:outlives", "The command goes on once the gateway is back."),
    ("mcp-3", "agents:ended", "Nothing of a request stays once it has ended."),
    ("mcp-4", "agents:let-in", "Keys, origins and bodies are checked before the protocol begins."),
    ("mcp-20", "agents:messages", "What is no message is refused by naming what is wrong with it."),
    ("mcp-5", "agents:tools", "Every operation is a tool, with schemas and hints."),
    ("mcp-6", "agents:listed", "Only tools that the key can use are listed."),
    ("mcp-7", "agents:called", "A call of a tool is a call like any other."),
    ("mcp-8", "agents:connection", "The connection may be left out where there is only one."),
    ("mcp-9", "agents:idempotency", "A repeated key returns the first result."),
    ("mcp-10", "agents:result", "A result is the envelope, with warnings."),
    ("mcp-11", "agents:errors", "Errors are results that say what to do."),
    ("mcp-12", "agents:bounded", "Results are small enough, or say that they are not."),
    ("mcp-13", "agents:links", "Attachments are linked."),
    ("mcp-14", "agents:progress", "Who wants to know is told that a call goes on."),
    ("mcp-15", "agents:cancelled", "A client that leaves cancels its call."),
    ("mcp-16", "agents:resources", "Connections, events and runs can be read."),
    ("mcp-17", "agents:dry-run", "A write tells what it would do, and does nothing."),
    ("mcp-18", "agents:remedies", "What to do about an error is told by tools and resources."),
)
