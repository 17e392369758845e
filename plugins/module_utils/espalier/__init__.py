"""What Espalier decides and parses, in pure Python: for plugins here and modules on nodes (3.9 and later)."""
