"""Text functions: diff, merge, search, hidden and confusable characters, secrets, redaction."""
