"""`assent doctor`: checks that the safeguards hold on this machine."""
