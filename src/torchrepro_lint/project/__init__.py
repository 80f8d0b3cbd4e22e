"""What the text of a project is: its files and modules, what names mean across them, where programs start, which
options and settings they declare. Knows nothing of values, calls or random numbers."""
