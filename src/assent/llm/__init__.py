"""Models: streaming clients for three wires, a scripted model, and what is known about models."""
