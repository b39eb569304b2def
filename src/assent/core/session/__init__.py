"""Sessions: events, records, transcripts, questions and answers, agents and slash commands."""
