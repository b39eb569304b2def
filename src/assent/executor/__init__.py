"""The executor: applies an approved plan, and nothing else, without a model."""
