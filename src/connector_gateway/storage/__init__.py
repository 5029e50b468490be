"""What must outlive a call: tables, transactions, and counters that processes share."""
