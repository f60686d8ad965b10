"""Test the library while calls that read or write files fail: `make faults`."""
