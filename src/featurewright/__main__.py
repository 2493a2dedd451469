"""``python -m featurewright`` is ``featurewright``."""

from featurewright.cli import main

main()
