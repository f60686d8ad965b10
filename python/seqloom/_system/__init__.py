"""Functions that depend on the operating system.

All other modules use only parts of the standard library that exist on each system. The
table lists the differences from Linux:

===============  ===================================  ====================================
function         macOS                                Windows
===============  ===================================  ====================================
lock             as on Linux                          locks one byte after the file's end
lock of folders  as on Linux                          no lock: run only one writer
sync             as on Linux                          flushes files but not folders
rename_exchange  calls renamex_np                     not supported, so returns False
rename_new       calls renamex_np                     calls os.rename
change_owner     as on Linux                          raises OSError
after_fork       as on Linux                          not called, because fork is missing
without_signals  as on Linux                          Ctrl-C reaches child processes
count_cores      counts all cores                     counts all cores
memory           0, except for the total memory       0 for all values
follow_parent    a thread watches the parent          a thread watches the parent
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
