"""Rate limits of upstream services: when a request may be sent, and how budgets are used."""
