"""Runs the zinc executable of the package: the command zinc, and python -m zinc."""

import os
import subprocess
import sys

from ._session import executable


def main() -> None:
    """Replaces this process by zinc with the same arguments."""
    path = executable()
    if os.name == "nt":
        sys.exit(subprocess.call([path, *sys.argv[1:]]))
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
