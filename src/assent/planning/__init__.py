"""Plan services: writing, staging, reviewing, rebasing and approving plans."""
