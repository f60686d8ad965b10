/* Replaces functions of libc (LD_PRELOAD) that change or read files, and makes one of their calls fail.
 *
 * Only calls on files below one folder are counted, after a call of `arm`, or from the start of
 * a program with SEQLOOM_FAULT. A log contains each call: its name, its path, and for a write
 * the offset and the bytes. The call with the given number fails. `python -m faults` builds and
 * uses this library; tests/faults compares the log with the output of strace.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Flags of calls; `arm` takes a sum of flags. */
enum { CREATE = 1, WRITE = 2, SYNC = 4, NAME = 8, REMOVE = 16, RIGHTS = 32, CLOSE = 64,
       OPEN_READ = 128, READ = 256 };

/* Faults that do not set errno. */
enum { KILL_BEFORE = -1, KILL_AFTER = -2, KILL_HALF = -3, SHORT = -4, CUT = -5, GONE = -6,
       CHANGED = -7 };

static char folder[PATH_MAX];
static size_t folder_length;
static int log_file = -1, has_data, wanted, fault, stays, is_armed;
static long target;
static atomic_long count;

void arm(const char *watched, const char *log, int calls, long number, int kind, int forever,
         int data) {
    snprintf(folder, sizeof folder, "%s", watched);
    folder_length = strlen(folder);
    if (log_file >= 0) syscall(SYS_close, log_file);
    log_file = *log ? syscall(SYS_openat, AT_FDCWD, log,
                              O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    wanted = calls, target = number, fault = kind, stays = forever, has_data = data;
    count = 0;
    is_armed = 1;
}

void disarm(void) { is_armed = 0; }

/* Lines of SEQLOOM_FAULT: folder, log, calls, number, fault, forever, data. */
__attribute__((constructor)) static void begin(void) {
    const char *setting = getenv("SEQLOOM_FAULT");
    char watched[PATH_MAX], log[PATH_MAX];
    int calls, kind, forever, data;
    long number;
    const char *form = "%4095[^\n]\n%4095[^\n]\n%d %ld %d %d %d";
    if (setting && sscanf(setting, form, watched, log, &calls, &number, &kind, &forever, &data) == 7)
        arm(watched, log, calls, number, kind, forever, data);
}

static int is_below(const char *path) {
    return !strncmp(path, folder, folder_length) &&
           (!path[folder_length] || path[folder_length] == '/');
}

/* Returns the path of a file descriptor. */
static int path_of(int file, char *path) {
    char link[64];
    if (file == AT_FDCWD) return getcwd(path, PATH_MAX) != NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return 1;
}

static void join(int at, const char *name, char *path) {
    char home[PATH_MAX];
    if (*name == '/' || !path_of(at, home)) snprintf(path, PATH_MAX, "%s", name);
    else if (snprintf(path, PATH_MAX, "%s%s%s", home, *name ? "/" : "", name) >= PATH_MAX) *path = 0;
}

static void note(const char *call, const char *path, const char *other, long offset,
                 const void *data, size_t size) {
    if (log_file < 0) return;
    const unsigned char *bytes = data;
    size_t shown = has_data && data ? size : 0;
    char *line = malloc(2 * shown + 2 * PATH_MAX + 128), *end = line;
    if (!line) return;
    end += sprintf(end, "%s\t%s\t%s\t%ld\t%zu\t", call, path, other, offset, size);
    for (size_t byte = 0; byte < shown; byte++) end += sprintf(end, "%02x", bytes[byte]);
    *end++ = '\n';
    syscall(SYS_write, log_file, line, end - line);
    free(line);
}

static void die(void) {
    syscall(SYS_kill, (int)syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
}

/* Counts a call, and returns the fault that it must simulate, or 0. */
static int hit(int kind, const char *call, const char *path, const char *other, long offset,
               const void *data, size_t size) {
    if (!is_armed || !(kind & wanted) || !(is_below(path) || is_below(other))) return 0;
    int kept = errno;
    note(call, path, other, offset, data, size);
    errno = kept;
    long number = count++;
    if (number != target && !(stays && target >= 0 && number > target)) return 0;
    if (fault == KILL_BEFORE) die();
    if (fault > 0) errno = fault;
    return fault;
}

/* Changes, truncates or removes a file while it is read. */
static void spoil(int found, const char *path) {
    struct stat facts;
    char bytes[4096];
    if (found == GONE) syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (found != CUT && found != CHANGED) return;
    int file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
    if (file < 0) return;
    if (!syscall(SYS_fstat, file, &facts)) {
        if (found == CUT) syscall(SYS_ftruncate, file, facts.st_size / 2);
        memset(bytes, 'N', sizeof bytes);
        for (off_t at = 0; found == CHANGED && at < facts.st_size; at += sizeof bytes) {
            size_t rest = facts.st_size - at;
            syscall(SYS_pwrite64, file, bytes, rest < sizeof bytes ? rest : sizeof bytes, at);
        }
    }
    syscall(SYS_close, file);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Calls with one or two paths, which fail with -1. */
#define ON_PATHS(kind, name, parameters, arguments, at, path, other_at, other)            \
    int name parameters {                                                                \
        static int(*real) parameters;                                                    \
        char first[PATH_MAX] = "", second[PATH_MAX] = "";                                \
        if (!real) real = (int(*) parameters)dlsym(RTLD_NEXT, #name);                    \
        if (is_armed) join(at, path, first);                                             \
        if (is_armed && *(other)) join(other_at, other, second);                         \
        int found = hit(kind, #name, first, second, 0, NULL, 0);                         \
        if (found > 0) return -1;                                                        \
        int result = real arguments;                                                     \
        if (found == KILL_AFTER || found == KILL_HALF) die();                            \
        return result;                                                                   \
    }

ON_PATHS(NAME, rename, (const char *a, const char *b), (a, b), AT_FDCWD, a, AT_FDCWD, b)
ON_PATHS(NAME, renameat, (int f, const char *a, int t, const char *b), (f, a, t, b), f, a, t, b)
ON_PATHS(NAME, renameat2, (int f, const char *a, int t, const char *b, unsigned int flags),
         (f, a, t, b, flags), f, a, t, b)
ON_PATHS(NAME, link, (const char *a, const char *b), (a, b), AT_FDCWD, a, AT_FDCWD, b)
ON_PATHS(NAME, linkat, (int f, const char *a, int t, const char *b, int flags),
         (f, a, t, b, flags), f, a, t, b)
ON_PATHS(NAME, symlink, (const char *a, const char *b), (a, b), AT_FDCWD, b, AT_FDCWD, "")
ON_PATHS(CREATE, mkdir, (const char *a, mode_t mode), (a, mode), AT_FDCWD, a, AT_FDCWD, "")
ON_PATHS(CREATE, mkdirat, (int f, const char *a, mode_t mode), (f, a, mode), f, a, AT_FDCWD, "")
ON_PATHS(REMOVE, unlink, (const char *a), (a), AT_FDCWD, a, AT_FDCWD, "")
ON_PATHS(REMOVE, unlinkat, (int f, const char *a, int flags), (f, a, flags), f, a, AT_FDCWD, "")
ON_PATHS(REMOVE, rmdir, (const char *a), (a), AT_FDCWD, a, AT_FDCWD, "")
ON_PATHS(RIGHTS, chmod, (const char *a, mode_t mode), (a, mode), AT_FDCWD, a, AT_FDCWD, "")
ON_PATHS(RIGHTS, fchmodat, (int f, const char *a, mode_t mode, int flags), (f, a, mode, flags),
         f, a, AT_FDCWD, "")
ON_PATHS(RIGHTS, chown, (const char *a, uid_t user, gid_t group), (a, user, group), AT_FDCWD, a,
         AT_FDCWD, "")
ON_PATHS(RIGHTS, lchown, (const char *a, uid_t user, gid_t group), (a, user, group), AT_FDCWD, a,
         AT_FDCWD, "")
ON_PATHS(RIGHTS, fchownat, (int f, const char *a, uid_t user, gid_t group, int flags),
         (f, a, user, group, flags), f, a, AT_FDCWD, "")
/* Calls that change an open file, which fail with -1. */
#define ON_FILE(kind, name, parameters, arguments, file, offset)                          \
    int name parameters {                                                                \
        static int(*real) parameters;                                                    \
        char path[PATH_MAX] = "";                                                        \
        if (!real) real = (int(*) parameters)dlsym(RTLD_NEXT, #name);                    \
        if (is_armed) path_of(file, path);                                               \
        int found = hit(kind, #name, path, "", offset, NULL, 0);                         \
        if (found > 0) return -1;                                                        \
        int result = real arguments;                                                     \
        if (found == KILL_AFTER || found == KILL_HALF) die();                            \
        return result;                                                                   \
    }

ON_FILE(SYNC, fsync, (int file), (file), file, 0)
ON_FILE(SYNC, fdatasync, (int file), (file), file, 0)
ON_FILE(RIGHTS, fchmod, (int file, mode_t mode), (file, mode), file, 0)
ON_FILE(RIGHTS, fchown, (int file, uid_t user, gid_t group), (file, user, group), file, 0)
ON_FILE(RIGHTS, futimens, (int file, const struct timespec times[2]), (file, times), file, 0)
ON_FILE(WRITE, ftruncate, (int file, off_t size), (file, size), file, size)
ON_FILE(WRITE, ftruncate64, (int file, off64_t size), (file, size), file, size)
ON_FILE(WRITE, fallocate, (int file, int mode, off_t from, off_t size), (file, mode, from, size),
        file, from + size)
ON_FILE(WRITE, fallocate64, (int file, int mode, off64_t from, off64_t size),
        (file, mode, from, size), file, from + size)

int utimensat(int at, const char *name, const struct timespec times[2], int flags) {
    char path[PATH_MAX] = "";
    if (is_armed && name) join(at, name, path);
    int found = hit(RIGHTS, "utimensat", path, "", 0, NULL, 0);
    if (found > 0) return -1;
    int result = syscall(SYS_utimensat, at, name, times, flags);
    if (found == KILL_AFTER || found == KILL_HALF) die();
    return result;
}

/* posix_fallocate returns an error number and does not set errno. */
int posix_fallocate(int file, off_t from, off_t size) {
    char path[PATH_MAX] = "";
    if (is_armed) path_of(file, path);
    int found = hit(WRITE, "fallocate", path, "", from + size, NULL, 0);
    if (found > 0) return found;
    int result = REAL(posix_fallocate)(file, from, size);
    if (found == KILL_AFTER || found == KILL_HALF) die();
    return result;
}
int posix_fallocate64(int file, off64_t from, off64_t size) {
    return posix_fallocate(file, from, size);
}

/* After an error, close still closes the file, as in Linux. */
int close(int file) {
    static int (*real)(int);
    char path[PATH_MAX] = "";
    if (!real) real = REAL(close);
    int is_written = is_armed && (wanted & CLOSE) && path_of(file, path) &&
                     (syscall(SYS_fcntl, file, F_GETFL) & O_ACCMODE) != O_RDONLY;
    int found = is_written ? hit(CLOSE, "close", path, "", 0, NULL, 0) : 0;
    int kept = errno, result = real(file);
    if (found == KILL_AFTER || found == KILL_HALF) die();
    if (found <= 0) return result;
    errno = kept;
    return -1;
}

/* Reads and writes. SHORT and KILL_HALF transfer only half of the bytes. */
static size_t half_of(size_t size) { return size > 1 ? size / 2 : size; }

#define MOVE(kind, name, type, buffer_type, rest, rest_arguments, offset)                 \
    ssize_t name(int file, buffer_type data, size_t size rest) {                         \
        static ssize_t (*real)(int, buffer_type, size_t rest);                           \
        char path[PATH_MAX] = "";                                                        \
        if (!real) real = dlsym(RTLD_NEXT, #name);                                       \
        if (is_armed && (wanted & kind)) path_of(file, path);                            \
        int found = *path ? hit(kind, #name, path, "", offset,                           \
                                kind == WRITE ? data : NULL, size) : 0;                  \
        if (found > 0) return -1;                                                        \
        spoil(found, path);                                                              \
        size_t part = found == SHORT || found == KILL_HALF ? half_of(size) : size;       \
        ssize_t result = real(file, data, part rest_arguments);                          \
        if (found == KILL_AFTER || found == KILL_HALF) die();                            \
        return result;                                                                   \
    }

#define COMMA ,
/* Returns the offset of a write: the end of the file in append mode. */
static long offset_of(int file) {
    struct stat facts;
    int is_appended = syscall(SYS_fcntl, file, F_GETFL) & O_APPEND;
    if (is_appended && !syscall(SYS_fstat, file, &facts)) return facts.st_size;
    return syscall(SYS_lseek, file, 0, SEEK_CUR);
}

MOVE(WRITE, write, ssize_t, const void *, , , is_armed ? offset_of(file) : 0)
MOVE(WRITE, pwrite, ssize_t, const void *, COMMA off_t at, COMMA at, at)
MOVE(WRITE, pwrite64, ssize_t, const void *, COMMA off64_t at, COMMA at, at)
MOVE(READ, read, ssize_t, void *, , , is_armed ? offset_of(file) : 0)
MOVE(READ, pread, ssize_t, void *, COMMA off_t at, COMMA at, at)
MOVE(READ, pread64, ssize_t, void *, COMMA off64_t at, COMMA at, at)

/* writev writes only the first non-empty buffer; callers must handle short writes. */
ssize_t writev(int file, const struct iovec *pieces, int pieces_count) {
    char path[PATH_MAX] = "";
    int is_ours = is_armed && (wanted & WRITE) && path_of(file, path) && is_below(path);
    if (!is_ours) return syscall(SYS_writev, file, pieces, pieces_count);
    for (int piece = 0; piece < pieces_count; piece++)
        if (pieces[piece].iov_len)
            return write(file, pieces[piece].iov_base, pieces[piece].iov_len);
    return 0;
}

/* Memory maps. */
#define MAP(name, offset_type)                                                            \
    void *name(void *address, size_t size, int rights, int flags, int file, offset_type at) { \
        char path[PATH_MAX] = "";                                                        \
        if (is_armed && file >= 0 && (wanted & READ)) path_of(file, path);               \
        int found = *path ? hit(READ, "mmap", path, "", at, NULL, size) : 0;             \
        if (found > 0) return MAP_FAILED;                                                \
        spoil(found, path);                                                              \
        void *mapping = (void *)syscall(SYS_mmap, address, size, rights, flags, file, at); \
        return mapping;                                                                  \
    }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

/* Opens a file, and logs the call as create, truncate, open or read. */
static int opened(const char *call, int at, const char *name, int flags, int mode) {
    char path[PATH_MAX] = "";
    int writes = flags & (O_WRONLY | O_RDWR);
    int makes = flags & O_CREAT && syscall(SYS_faccessat, at, name, F_OK);
    int kind = writes || flags & O_CREAT ? CREATE : OPEN_READ;
    if (is_armed) join(at, name, path);
    const char *logged_call = makes ? "create" : flags & O_TRUNC ? "truncate" : writes ? "open" : call;
    int found = hit(kind, logged_call, path, "", 0, NULL, 0);
    if (found > 0) return -1;
    spoil(found, path);
    int result = syscall(SYS_openat, at, name, flags, mode);
    if (found == KILL_AFTER || found == KILL_HALF) die();
    return result;
}

#define MODE(last)                                    \
    va_list rest;                                     \
    va_start(rest, last);                             \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0; \
    va_end(rest);

int open(const char *path, int flags, ...) {
    MODE(flags) return opened("open-read", AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE(flags) return opened("open-read", AT_FDCWD, path, flags, mode);
}
int openat(int at, const char *path, int flags, ...) {
    MODE(flags) return opened("open-read", at, path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...) {
    MODE(flags) return opened("open-read", at, path, flags, mode);
}
