"""Make every call that writes or reads files fail: `make faults`."""
