"""Permission values and decisions: modes, rules, grants, trust, and protected or secret paths."""
