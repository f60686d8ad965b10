"""Functions whose code depends on the operating system, and what each does elsewhere.

Linux has everything, and macOS almost everything. The rest of the package uses only what
the standard library has on each system. Where a facility is missing:

===============  ===================================  ====================================
facility         macOS                                Windows
===============  ===================================  ====================================
lock             as on Linux                          a byte after any file's end
lock of folders  as on Linux                          none: one process at a time writes
sync             as on Linux                          files only, no folders
rename_exchange  renamex_np                           False: the caller renames in steps
rename_new       renamex_np                           a rename, which replaces nothing
change_owner     as on Linux                          OSError: the new file's owner stays
after_fork       as on Linux                          not called: there is no fork
without_signals  as on Linux                          Ctrl-C reaches child processes
count_cores      all cores                            all cores
memory           the machine's; the rest is 0         0: unknown
follow_parent    left to the thread that watches      left to the thread that watches
===============  ===================================  ====================================
"""

from seqloom._system._disk import (
    NOFOLLOW,
    change_owner,
    lock,
    open_handle,
    read_at,
    rename_exchange,
    rename_new,
    sync,
    sync_data,
)
from seqloom._system._machine import (
    after_fork,
    available_memory,
    child_processes,
    count_cores,
    follow_parent,
    is_running,
    load_average,
    read_fact,
    resident_memory,
    total_memory,
    without_signals,
)

__all__ = [
    "NOFOLLOW",
    "after_fork",
    "available_memory",
    "change_owner",
    "child_processes",
    "count_cores",
    "follow_parent",
    "is_running",
    "load_average",
    "lock",
    "open_handle",
    "read_at",
    "read_fact",
    "rename_exchange",
    "rename_new",
    "resident_memory",
    "sync",
    "sync_data",
    "total_memory",
    "without_signals",
]
