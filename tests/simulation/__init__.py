"""The promises about writes under seeded faults: the complete gateway and the emulators on one loop of virtual time.

``make simulate SEEDS=1000`` runs a thousand histories. Each follows from its seed alone, so it can be run again.

``story`` defines callers, colleagues and faults; ``history`` runs them; ``checks`` reports violations:

I1  as many vendor objects as keys that received one, each complete
I2  the object in a response exists, is not a colleague's and belongs to one write; responses to one key are equal
I3  a caller who repeats with the key gets a result or a definite error within ten minutes after faults stop
I4  every run with a response is in the history, with the outcome of the response; no response is a 500
I5  no claim is active and no run is running a minute after faults stop
I6  without a key, no step that may have arrived is sent twice
I7  with limits on, one process that lives throughout is never throttled
I8  changes by colleagues in notes and chat are in the feeds once, in the order that the vendor reports
I0  the simulation itself failed

Not covered: PostgreSQL, deliveries (webhooks), a key's calls per minute, OAuth, and reading operations.
"""

HASH_SEED = "PYTHONHASHSEED"
"""The order of sets differs between processes without it."""
