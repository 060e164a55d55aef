/* Preloaded into a 64-bit process with LMDB files. For as long as the file DISK_FULL_WHILE is there, a write to them fails with
   ENOSPC, but for the two pages at the beginning, which have their room, and every volume says that it is full, with
   DISK_FULL_LATE not before such a write has found it so; while DISK_BROKEN_WHILE is there a sync fails with EIO; while
   DISK_STUCK_WHILE is there a sync does not come back, and the file DISK_STUCK_WHILE.seen says that one is asked. What lmdb-js
   3.5.6 says of a write that failed is longer than its buffer, which may end the process: it says less here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

int sprintf(char *text, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int length = vsprintf(text, strncmp(format, "Attempting to write page", 24) ? format : "No write", values);
  va_end(values);
  return length;
}

static const char *begun(const char *name) {
  const char *path = getenv(name);
  return path && access(path, F_OK) == 0 ? path : NULL;
}

static int is_found;

static int is_full(int fd, off_t offset) {
  char link[64], path[4096];
  ssize_t length;
  if (offset < 8192 || !begun("DISK_FULL_WHILE")) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  length = readlink(link, path, sizeof path - 1);
  if (length < 4 || memcmp(path + length - 4, ".mdb", 4) != 0) return 0;
  is_found = 1;
  errno = ENOSPC;
  return 1;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
  static ssize_t (*real)(int, const void *, size_t, off_t);
  if (!real) real = dlsym(RTLD_NEXT, "pwrite");
  return is_full(fd, offset) ? -1 : real(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset) { return pwrite(fd, bytes, size, offset); }

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  static ssize_t (*real)(int, const struct iovec *, int, off_t);
  if (!real) real = dlsym(RTLD_NEXT, "pwritev");
  return is_full(fd, offset) ? -1 : real(fd, parts, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t offset) { return pwritev(fd, parts, count, offset); }

int statfs(const char *path, struct statfs *found) {
  static int (*real)(const char *, struct statfs *);
  if (!real) real = dlsym(RTLD_NEXT, "statfs");
  int result = real(path, found);
  int is_said = is_found || !getenv("DISK_FULL_LATE");
  if (result == 0 && is_said && begun("DISK_FULL_WHILE")) found->f_bfree = found->f_bavail = 0;
  return result;
}

int statfs64(const char *path, struct statfs64 *found) { return statfs(path, (struct statfs *)found); }

static int through(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  const char *stuck = begun("DISK_STUCK_WHILE");
  if (stuck) {
    char seen[4096];
    snprintf(seen, sizeof seen, "%s.seen", stuck);
    close(open(seen, O_WRONLY | O_CREAT, 0600));
    while (begun("DISK_STUCK_WHILE")) usleep(10000);
  }
  if (begun("DISK_BROKEN_WHILE")) {
    errno = EIO;
    return -1;
  }
  return real(fd);
}

int fdatasync(int fd) { return through("fdatasync", fd); }
int fsync(int fd) { return through("fsync", fd); }
