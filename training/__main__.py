"""`python -m training` is the same as `espalier`."""

import sys

from training.cli import main

if __name__ == "__main__":
    sys.exit(main())
