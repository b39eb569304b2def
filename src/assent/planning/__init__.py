"""Plans: documents, drafts, consents and reviews of what a person approves."""
