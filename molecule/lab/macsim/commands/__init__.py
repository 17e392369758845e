"""One file a command; a new file here is a new command (see README.md)."""
