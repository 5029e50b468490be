"""The path of a call: arguments, limits, the operation, and the envelope of its result."""
