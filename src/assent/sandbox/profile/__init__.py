"""What a program inside gets to see of this machine: a list, and masks over it."""
