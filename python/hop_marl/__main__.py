"""`python -m hop_marl ...` is the `hop` command."""

import sys

from ._binary import main

if __name__ == "__main__":
    sys.exit(main())
