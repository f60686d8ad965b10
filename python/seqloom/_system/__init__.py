"""Functions that depend on the operating system.

Linux supports all of them, and macOS almost all. The rest of the package uses only parts of
the standard library that exist on each system. If a system lacks a facility:

===============  ===================================  ====================================
facility         macOS                                Windows
===============  ===================================  ====================================
lock             as on Linux                          a byte after the end of any file
lock of folders  as on Linux                          none: callers must not write twice
sync             as on Linux                          files only, no folders
rename_exchange  renamex_np                           False: the caller renames in steps
rename_new       renamex_np                           a rename, which never replaces
change_owner     as on Linux                          OSError: the owner does not change
after_fork       as on Linux                          not called: there is no fork
without_signals  as on Linux                          Ctrl-C reaches child processes
count_cores      all cores                            all cores
memory           the total; the rest is 0             0: unknown
follow_parent    the watching thread does it          the watching thread does it
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
