"""Configuration: settings, rules, agents and modes; an untrusted project can only restrict."""
