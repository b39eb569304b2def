"""The terminal UI: plan, review and approve on one screen; it shows events and asks verbs."""
