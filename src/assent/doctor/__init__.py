"""`assent doctor`: tries on this machine everything that must be impossible."""
