"""What the tests stand on: real servers on loopback, and clients that read like sentences."""
