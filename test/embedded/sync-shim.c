/* Preloaded into a store: makes fdatasync slow (SYNC_DELAY_MS), or makes the n-th call of the process fail with EIO
   (SYNC_FAIL_AT). The file SYNC_FAILED then holds the time of the failure, CLOCK_MONOTONIC in nanoseconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_int calls = 0;

static int broken(void) {
  const char *at = getenv("SYNC_FAIL_AT");
  return atomic_fetch_add(&calls, 1) + 1 == (at ? atoi(at) : 0);
}

static void tell(void) {
  const char *file = getenv("SYNC_FAILED");
  struct timespec now;
  int fd = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
  if (fd < 0) return;
  clock_gettime(CLOCK_MONOTONIC, &now);
  dprintf(fd, "%lld", now.tv_sec * 1000000000LL + now.tv_nsec);
  close(fd);
}

static int through(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  const char *delay = getenv("SYNC_DELAY_MS");
  if (broken()) {
    tell();
    errno = EIO;
    return -1;
  }
  if (delay) usleep(1000 * atoi(delay));
  return real(fd);
}

int fdatasync(int fd) { return through("fdatasync", fd); }
int fsync(int fd) { return through("fsync", fd); }
