"""Functions that depend on the operating system.

All other modules use only parts of the standard library that exist on each system. The
table lists the differences from Linux:

======================== =============================== ===================================
function                 macOS                           Windows
======================== =============================== ===================================
lock_file                as on Linux                     locks one byte after the file's end
lock_file (folder)       as on Linux                     no lock: run only one writer
fsync                    as on Linux                     flushes files but not folders
exchange_files           calls renamex_np                not supported, so returns False
rename_without_replacing calls renamex_np                calls os.rename
change_owner             as on Linux                     raises OSError
run_after_fork           as on Linux                     not called, because fork is missing
block_signals            as on Linux                     Ctrl-C reaches child processes
count_cores              counts all cores                counts all cores
memory                   0, except for the total memory  0 for all values
end_with_parent          a thread watches the parent     a thread watches the parent
======================== =============================== ===================================
"""

from seqloom._system._disk import (
    NOFOLLOW,
    change_owner,
    exchange_files,
    fsync,
    lock_file,
    open_handle,
    read_bytes_at,
    rename_without_replacing,
    start_sync,
)
from seqloom._system._machine import (
    available_memory,
    block_signals,
    count_cores,
    end_with_parent,
    is_running,
    list_child_processes,
    load_average,
    match_in_system_file,
    resident_memory,
    run_after_fork,
    total_memory,
)

__all__ = [
    "NOFOLLOW",
    "available_memory",
    "block_signals",
    "change_owner",
    "count_cores",
    "end_with_parent",
    "exchange_files",
    "fsync",
    "is_running",
    "list_child_processes",
    "load_average",
    "lock_file",
    "match_in_system_file",
    "open_handle",
    "read_bytes_at",
    "rename_without_replacing",
    "resident_memory",
    "run_after_fork",
    "start_sync",
    "total_memory",
]
