"""Makes matplotlib look absent to the commands of a page whose text has no pictures."""

import sys

sys.modules["matplotlib"] = None  # pyright: ignore[reportArgumentType] - what Python reads so
