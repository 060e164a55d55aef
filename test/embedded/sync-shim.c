/* Preloaded into a store: makes fdatasync slow (SYNC_DELAY_MS), or makes the n-th call after a trigger file exists
   fail with EIO once (SYNC_FAIL_FILE). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int broken(void) {
  static int done = 0;
  const char *file = getenv("SYNC_FAIL_FILE");
  if (!file || done || access(file, F_OK) != 0) return 0;
  done = 1;
  return 1;
}

static int through(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  const char *delay = getenv("SYNC_DELAY_MS");
  if (broken()) {
    errno = EIO;
    return -1;
  }
  if (delay) usleep(1000 * atoi(delay));
  return real(fd);
}

int fdatasync(int fd) { return through("fdatasync", fd); }
int fsync(int fd) { return through("fsync", fd); }
