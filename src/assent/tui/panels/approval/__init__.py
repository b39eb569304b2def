"""The approval panel: review a plan, comment on it, approve, reject or discard it."""
