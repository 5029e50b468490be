"""The promise about writes, tried under seeded faults: the whole gateway and the emulators on one loop of virtual time.

``make simulate SEEDS=1000`` lets a thousand histories happen. Each is made from its seed alone, so it can be run again.

``story`` says what callers, colleagues and faults do; ``history`` lets it happen; ``checks`` says what was broken:

I1  as many objects upstream as keys that were answered with one, each whole
I2  the object in an answer is there, was not made by a colleague, is nobody else's; answers under a key are equal
I3  a caller who repeats with the key gets a result or a definite error within ten minutes after faults stop
I4  every run that was answered is in the history, with the outcome that was answered; nothing is answered 500
I5  no claim is held and no run is running a minute after faults stop
I6  without a key, no step that may have arrived is sent twice
I7  with limits on, one process that lives throughout is never refused as too fast
I8  what colleagues make in notes and chat is in the feeds once, in order as far as the application tells it
I0  the simulation itself failed

Not covered: PostgreSQL, deliveries (webhooks), a key's calls per minute, OAuth, and reading operations.
"""

HASH_SEED = "PYTHONHASHSEED"
"""The order of sets differs between processes without it."""
