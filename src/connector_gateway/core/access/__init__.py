"""Who may call and administer: keys, operators, sessions, workspaces, quotas and the audit trail."""
