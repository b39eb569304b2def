"""Language model clients: providers, three wire protocols, retries and a scripted model."""
