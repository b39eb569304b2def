"""Run services: building, recovering and undoing plans, permits, commands and retention."""
