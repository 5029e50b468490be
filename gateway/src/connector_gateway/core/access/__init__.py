"""Authentication and authorisation: keys, operators, sessions, workspaces, quotas and the audit trail."""
