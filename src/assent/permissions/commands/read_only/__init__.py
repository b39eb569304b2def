"""Read-only commands: tables of what may run while planning, and the judge that reads them."""
