"""Wire protocols: how prompts are encoded and answers decoded for three APIs."""
