"""Looking: what the tools that read are made of; files are seen with the draft on top."""
