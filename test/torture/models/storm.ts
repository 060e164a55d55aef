import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { complain, type Figures, type Plan } from '../figures.ts';
import { Scene } from '../scene.ts';
import { ask } from './asking.ts';
import { type Arrival, provider } from './provider.ts';
import { json, wholeAnswer } from './recorded.ts';
import { at, bodyOf, startSite } from './site.ts';

/** Requests a second. */
const rate = 100;
/** What all providers together may be asked for, beside what clients ask for; G10, as the next two. */
const mostShare = 1.1;
const openMs = 2_000;
const recoveryMs = 5_000;
/** Requests a second that are left to two providers once nobody trusts them: probes. */
const probes = 5;
const steadyMs = 1_000;

/**
 * G10: both providers of a model answer 503 for `count` seconds. They are not asked for more than the clients ask for, hardly
 * at all after two seconds, and the model works again within five seconds after they do. The canary's model has one provider
 * only, which nothing shields.
 */
export async function torturedByStorms({ count, canary }: Plan, figures: Figures): Promise<void> {
  const scene = new Scene();
  const agent = new Agent({ keepAlive: true });
  scene.later(() => agent.destroy());
  try {
    let isFailing = false;
    let began = Number.POSITIVE_INFINITY;
    let asked = 0;
    let askedLate = 0;
    const { url } = await provider(scene, ({ n, isStream, socket }: Arrival) => {
      if (isFailing) {
        asked += 1;
        if (performance.now() - began > openMs) askedLate += 1;
      }
      socket.write(
        isFailing
          ? json('503 Service Unavailable', { type: 'error', error: { type: 'api_error', message: 'away' } })
          : wholeAnswer(n, isStream),
      );
    });
    const upstreams = ['/east', '/west'].map((path) => at(`${url}${path}`));
    const site = await startSite(scene, { stormy: canary ? { upstream: upstreams[0] } : { upstreams } });
    site.onEnd((words) => complain(figures, `the gateway has ended: ${words}`));
    let sent = 0;
    const statuses: { readonly at: number; readonly status: number }[] = [];
    const send = (): void => {
      const n = sent++;
      void ask(site, bodyOf(n, n % 2 === 0, 'stormy'), agent).then(({ status, isWhole }) => {
        statuses.push({ at: performance.now(), status: isWhole ? status : 0 });
      });
    };
    const load = setInterval(send, 1000 / rate);
    scene.later(() => clearInterval(load));
    await wait(steadyMs);
    const before = sent;
    began = performance.now();
    isFailing = true;
    for (; figures.cycles < count; figures.cycles++) {
      scene.goOn();
      await wait(1_000);
    }
    const offered = sent - before;
    isFailing = false;
    const back = performance.now();
    await wait(recoveryMs + steadyMs);
    clearInterval(load);
    figures.acknowledged = sent;
    const share = asked / offered;
    if (share > mostShare) complain(figures, `the providers were asked ${asked} times for ${offered} requests`);
    const lateSeconds = count - openMs / 1000;
    if (askedLate > probes * Math.max(1, lateSeconds))
      complain(
        figures,
        `after ${openMs} ms they were still asked ${Math.round(askedLate / lateSeconds)} times a second`,
      );
    const first = statuses.filter(({ at: time, status }) => time > back && status === 200).at(0);
    const restMs = (first?.at ?? Number.POSITIVE_INFINITY) - back;
    if (restMs > recoveryMs)
      complain(figures, `the model was away for ${Math.round(restMs)} ms after its providers were back`);
    const bad = statuses.filter(({ at: time, status }) => time > back + recoveryMs && status !== 200).length;
    if (bad > 0) complain(figures, `${bad} requests failed after the recovery`);
    const odd = statuses.filter(({ status }) => ![200, 502, 503, 529].includes(status)).length;
    if (odd > 0) complain(figures, `${odd} requests were told something else`);
    figures.notes.push(
      `the providers were asked for ${(100 * share).toFixed(0)} % of what the clients asked; the model worked again after ${Math.round(restMs)} ms`,
    );
  } finally {
    await scene.end();
  }
}
