/* Preloaded into a store: writes what happens to the file WRITE_LOG_OF to WRITE_LOG, in the order in which it happened.
   One lock holds each call together with its entry. An entry: kind, flags (1: the descriptor writes through to the disk),
   offset, length as four little-endian 64-bit numbers, then the bytes. Kinds: 1 write, 2 sync, 3 truncate, and 4 a mark,
   which is anything written to a file whose name ends in ".marks". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int out = -1;

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

enum { OTHER, DATA, MARKS };

static int kind_of(int fd) {
  static const char marks[] = ".marks";
  char link[64], path[PATH_MAX];
  const char *wanted = getenv("WRITE_LOG_OF");
  ssize_t length;
  if (!wanted || fd <= 2 || fd == out) return OTHER;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return OTHER;
  path[length] = 0;
  if (strcmp(path, wanted) == 0) return DATA;
  return length > (ssize_t)sizeof marks && strcmp(path + length - (sizeof marks - 1), marks) == 0 ? MARKS : OTHER;
}

static void entry(uint64_t kind, int fd, uint64_t offset, const struct iovec *parts, int count, ssize_t length) {
  uint64_t head[4] = {kind, 0, offset, length > 0 ? length : 0};
  ssize_t left = length;
  if (out < 0) out = open(getenv("WRITE_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  head[1] = (fcntl(fd, F_GETFL) & O_DSYNC) != 0;
  if (REAL(write)(out, head, sizeof head) != sizeof head) abort();
  for (int i = 0; i < count && left > 0; i++) {
    ssize_t part = (ssize_t)parts[i].iov_len < left ? (ssize_t)parts[i].iov_len : left;
    if (REAL(write)(out, parts[i].iov_base, part) != part) abort();
    left -= part;
  }
}

#define LOGGED(fd, type, call, what)        \
  int kind = kind_of(fd);                   \
  type result;                              \
  if (kind == OTHER) return call;           \
  pthread_mutex_lock(&lock);                \
  result = call;                            \
  if (result >= 0) what;                    \
  pthread_mutex_unlock(&lock);              \
  return result

#define PLACE (kind == MARKS ? 4 : 1), fd

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  struct iovec part = {(void *)bytes, length};
  LOGGED(fd, ssize_t, REAL(pwrite64)(fd, bytes, length, at), entry(PLACE, at, &part, 1, result));
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return pwrite64(fd, bytes, length, at); }

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  LOGGED(fd, ssize_t, REAL(pwritev64)(fd, parts, count, at), entry(PLACE, at, parts, count, result));
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return pwritev64(fd, parts, count, at); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
  LOGGED(fd, ssize_t, REAL(writev)(fd, parts, count), entry(PLACE, lseek64(fd, 0, SEEK_CUR) - result, parts, count, result));
}

ssize_t write(int fd, const void *bytes, size_t length) {
  struct iovec part = {(void *)bytes, length};
  LOGGED(fd, ssize_t, REAL(write)(fd, bytes, length), entry(PLACE, lseek64(fd, 0, SEEK_CUR) - result, &part, 1, result));
}

int ftruncate64(int fd, off64_t length) {
  LOGGED(fd, int, REAL(ftruncate64)(fd, length), entry(3, fd, length, NULL, 0, 0));
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fdatasync(int fd) { LOGGED(fd, int, REAL(fdatasync)(fd), entry(2, fd, 0, NULL, 0, 0)); }
int fsync(int fd) { LOGGED(fd, int, REAL(fsync)(fd), entry(2, fd, 0, NULL, 0, 0)); }
