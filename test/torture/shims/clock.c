/* Preloaded: moves the wall clock by the milliseconds that the file CLOCK_OFFSET holds as a 64-bit number, which another
   process changes as it likes. The monotonic clock stays as it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static int64_t offset_ms(void) {
  static volatile int64_t *shared = NULL;
  if (!shared) {
    int fd = open(getenv("CLOCK_OFFSET") ? getenv("CLOCK_OFFSET") : "", O_RDONLY);
    void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) return 0;
    shared = mapped;
  }
  return *shared;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = ((int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime"))(clock, now);
  int64_t ms = offset_ms();
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  now->tv_sec += ms / 1000;
  now->tv_nsec += ms % 1000 * 1000000;
  if (now->tv_nsec < 0) now->tv_sec--, now->tv_nsec += 1000000000;
  if (now->tv_nsec >= 1000000000) now->tv_sec++, now->tv_nsec -= 1000000000;
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec precise;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
