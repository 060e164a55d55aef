// Runs before a Node server under test: it ends with the harness, however that ends, and tells it of its garbage
// collections and its event loop.
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  let pauses = { count: 0, longest: 0, sum: 0 };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      pauses = {
        count: pauses.count + 1,
        longest: Math.max(pauses.longest, duration),
        sum: pauses.sum + duration,
      };
    }
  }).observe({ entryTypes: ['gc'] });
  process.on('disconnect', () => process.exit(1));
  process.on('message', (question) => {
    if (question === 'reset') {
      delay.reset();
      pauses = { count: 0, longest: 0, sum: 0 };
      process.send({ answered: null });
    } else if (question === 'read') {
      const millis = (nanos) => nanos / 1e6;
      const loopDelay = {
        p50: millis(delay.percentile(50)),
        p99: millis(delay.percentile(99)),
        max: millis(delay.max),
      };
      const { heapUsed, rss } = process.memoryUsage();
      process.send({ answered: { pauses, loopDelay, heapUsed, rss } });
    }
  });
  // It must not keep the server alive that is told to stop.
  process.channel?.unref();
}
