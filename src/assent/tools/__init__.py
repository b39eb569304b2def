"""Tools: what a model may call. They read, and return effects; none of them writes."""
