"""The executor: applies, reverses and recovers approved or permitted plans, without a model."""
