"""Messages, model requests and provider settings: what a model is sent, and what it answers."""
