"""Parts of a genome: from a table of intervals to items."""
