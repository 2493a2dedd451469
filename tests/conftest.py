"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# The first call of a kernel compiles it, which no deadline would allow; derandomised, so that a
# failure is seen again.
settings.register_profile("featurewright", deadline=None, derandomize=True)
settings.load_profile("featurewright")
