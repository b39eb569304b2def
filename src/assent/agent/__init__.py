"""The agent: sessions, turns, tool calls, permission requests, sub-agents and prompts."""
