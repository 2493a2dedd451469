"""``python -m featurewright.cli`` is ``featurewright``."""

from featurewright.cli import main

main()
