"""What install.py does, one concern a file; each returns what it changed, in words."""
