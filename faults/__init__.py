"""Makes every call fail at which a file is written or read: make faults."""
