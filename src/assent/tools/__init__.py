"""Tools: what a model may call. They read, and return what they wish for; none of them writes."""
