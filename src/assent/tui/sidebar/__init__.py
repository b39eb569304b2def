"""The sidebar: the plan, its operations, the todos, context and cost."""
