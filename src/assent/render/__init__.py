"""Views: pure rendering that all faces share. Nothing here reads a disk, a terminal or a clock."""
