"""Runs saves in which one call of the C library fails, or the process is killed at it.

A library in C comes before libc (LD_PRELOAD): it counts the calls that change files, and
makes one of them fail with an error, or kills the process before it, after it, or when half
of the bytes are written. `run_faults` saves once for each call and each fault, each time in
a forked process, and says what was left.
"""

import ctypes
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

import seqloom as sl

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int armed, target, count, fault;
static char names[4096];

/* fault > 0: this errno; -1: killed before; -2: killed after; -3: half is written. */
void arm(int number, int kind) {
    count = 0; target = number; fault = kind; names[0] = 0; armed = 1;
}
const char *disarm(void) { armed = 0; return names; }

static int hit(const char *name) {
    if (!armed) return 0;
    if (strlen(names) < 4000) { strcat(names, name); strcat(names, " "); }
    if (count++ != target) return 0;
    if (fault == -1) kill(getpid(), SIGKILL);
    if (fault > 0) errno = fault;
    return fault;
}

#define CALL(type, name, parameters, arguments)                       \
    type name parameters {                                            \
        static type (*real) parameters;                               \
        if (!real) real = (type (*) parameters) dlsym(RTLD_NEXT, #name); \
        int found = hit(#name);                                       \
        if (found > 0) return -1;                                     \
        type result = real arguments;                                 \
        if (found < 0) kill(getpid(), SIGKILL);                       \
        return result;                                                \
    }

CALL(int, fsync, (int file), (file))
CALL(int, rename, (const char *a, const char *b), (a, b))
CALL(int, link, (const char *a, const char *b), (a, b))
CALL(int, renameat2,
     (int from, const char *a, int to, const char *b, unsigned int flags),
     (from, a, to, b, flags))
CALL(int, unlink, (const char *a), (a))
CALL(int, chmod, (const char *a, mode_t mode), (a, mode))
CALL(int, fchmod, (int file, mode_t mode), (file, mode))
CALL(int, chown, (const char *a, uid_t user, gid_t group), (a, user, group))
CALL(int, ftruncate64, (int file, off64_t size), (file, size))

ssize_t write(int file, const void *data, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t (*)(int, const void *, size_t)) dlsym(RTLD_NEXT, "write");
    int found = hit("write");
    if (found > 0) return -1;
    ssize_t result = real(file, data, found == -3 ? size / 2 : size);
    if (found < 0) kill(getpid(), SIGKILL);
    return result;
}

#define OPEN(name)                                                    \
    int name(const char *path, int flags, ...) {                      \
        static int (*real)(const char *, int, ...);                   \
        if (!real)                                                    \
            real = (int (*)(const char *, int, ...)) dlsym(RTLD_NEXT, #name); \
        va_list rest;                                                 \
        va_start(rest, flags);                                        \
        int mode = va_arg(rest, int);                                 \
        va_end(rest);                                                 \
        int writes = flags & (O_WRONLY | O_RDWR);                     \
        int found = flags & O_CREAT ? hit("create") : writes ? hit("open") : 0; \
        if (found > 0) return -1;                                     \
        int result = real(path, flags, mode);                         \
        if (found < 0) kill(getpid(), SIGKILL);                       \
        return result;                                                \
    }

OPEN(open)
OPEN(open64)
"""

ERRORS = {name: getattr(errno, name) for name in ("ENOSPC", "EIO", "EROFS", "EACCES")}
KILLS = {"before": -1, "after": -2, "half": -3}
# A save that meets an error at one of these cannot have succeeded.
NEEDED = {"create", "write", "fsync", "rename"}


def build(folder):
    """Compiles the library; None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    source, library = folder / "faults.c", folder / "faults.so"
    source.write_text(SOURCE)
    command = [compiler, "-shared", "-fPIC", "-O1", "-w", "-o", library, source, "-ldl"]
    subprocess.run(command, check=True)
    return library


def run_faults(library, folder, recorder, faults):
    """Saves with each fault at each call, in another process; returns what was left."""
    command = [sys.executable, __file__, str(library), str(folder), recorder, *faults]
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    done = subprocess.run(command, check=True, capture_output=True, env=environment)
    return json.loads(done.stdout)


class Saver:
    """Saves records of one value to one file."""

    def __init__(self, library, folder, recorder):
        self.shim = ctypes.CDLL(library)
        self.shim.disarm.restype = ctypes.c_char_p
        self.recorder = getattr(sl.record, recorder)()
        self.path = Path(folder) / "model"

    def save(self, value):
        arrays = {"a": np.full(3000, value), "b": np.full((40, 30), value, "f4")}
        sl.record.Record(arrays, metadata={"value": value}).save(self.path, self.recorder)

    def read(self):
        """Reads the file, which must be whole, and says which one it is."""
        found = self.recorder.read(self.path).copy()
        values = {found.metadata["value"], *np.unique(found["a"]), *np.unique(found["b"])}
        return {(1.0,): "old", (2.0,): "new"}[tuple(values)]

    def list_calls(self):
        """Lists the calls of a save that replaces a file."""
        self.save(1.0)
        self.shim.arm(-1, 0)
        self.save(1.0)
        return self.shim.disarm().decode().split()

    def try_fault(self, number, fault):
        """Saves in another process with a fault at one call, then without any."""
        for part in self.path.parent.glob(".*"):
            part.unlink()
        self.save(1.0)
        said, is_killed = self.save_apart(number, {**ERRORS, **KILLS}[fault])
        parts = len(list(self.path.parent.glob(".*")))
        left = self.read()
        self.save(2.0)
        row = {"said": said, "is_killed": is_killed, "left": left, "parts": parts}
        return {**row, "next": self.read(), "names": len(list(self.path.parent.iterdir()))}

    def save_apart(self, number, fault):
        """Returns what a save with a fault raised, and whether it was killed."""
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.write(writer, self.say(number, fault).encode())
            os._exit(0)
        os.close(writer)
        status = os.waitpid(child, 0)[1]
        with os.fdopen(reader) as pipe:
            is_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            return pipe.read(), is_killed

    def say(self, number, fault):
        """Saves with a fault, and returns what was raised."""
        self.shim.arm(number, fault)
        try:
            self.save(2.0)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.shim.disarm()
            return f"{type(error).__name__}: {error}"
        self.shim.disarm()
        return ""


def main(library, folder, recorder, *faults):
    """Prints one row for each call and fault: what was raised and which file was left."""
    saver = Saver(library, folder, recorder)
    rows = [
        {"call": call, "fault": fault, **saver.try_fault(number, fault)}
        for number, call in enumerate(saver.list_calls())
        for fault in faults
        if fault != "half" or call == "write"
    ]
    sys.stdout.write(json.dumps(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
