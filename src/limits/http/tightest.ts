import { dayTokensField, kindShift, rpdField, rpmField, tpmField } from '../window/kinds.ts';
import { kindWord, logWord, requestsWord, tokensWord } from '../window/layout.ts';
import { requestsPerDay, requestsPerMinute, tokensPerDay, tokensPerMinute } from '../window/reasons.ts';
import type { WindowStore } from '../window/window-store.ts';

/** The windows chosen last, as the address of a record and a metric: one thread, so one object will do. */
export const tightest = { requestsAt: -1, requestsMetric: 0, tokensAt: -1, tokensMetric: 0, tokensScope: 0 };

/**
 * Chooses of the resolved and advanced records the window on requests and the one on tokens with the smallest part left:
 * key before project before organization and minute before day where parts are equal (contract F.5). One pass that reads
 * each record once takes 60 ns; a call for each of the ten windows took 300.
 *
 * @param top the outermost scope that is looked at
 *
 * The parts are true quotients, not products with an inverse: equal parts of different limits must be equal numbers.
 */
export const chooseTightest = (store: WindowStore, top = store.top): void => {
  const words = store.kinds.words;
  let fewest = 2;
  let least = 2;
  for (let scope = 0; scope <= top; scope++) {
    const address = scope === 0 ? store.keyAt : scope === store.top ? store.organizationAt : store.projectAt;
    const u16 = store.slab.u16;
    const kind = u16[(address + kindWord) << 1]!;
    const fields = kind << kindShift;

    const rpm = words[fields + rpmField]!;
    // The log never holds more than the limit.
    const minute = (rpm - u16[((address + logWord) << 1) + 1]!) / rpm;
    if (minute < fewest) {
      fewest = minute;
      tightest.requestsAt = address;
      tightest.requestsMetric = requestsPerMinute;
    }
    const rpd = words[fields + rpdField]!;
    if (rpd !== 0) {
      const left = rpd - store.slab.i32[address + requestsWord]!;
      const day = left > 0 ? left / rpd : 0;
      if (day < fewest) {
        fewest = day;
        tightest.requestsAt = address;
        tightest.requestsMetric = requestsPerDay;
      }
    }

    const tpm = words[fields + tpmField]!;
    if (tpm === 0) continue;
    const f64 = store.slab.f64;
    const left = tpm - f64[(address + tokensWord) >> 1]!;
    const tokens = left > 0 ? left / tpm : 0;
    if (tokens < least) {
      least = tokens;
      tightest.tokensAt = address;
      tightest.tokensMetric = tokensPerMinute;
      tightest.tokensScope = scope;
    }
    const tpd = store.kinds.tpd[kind]!;
    if (tpd === 0) continue;
    const leftOfDay = tpd - f64[(address + words[fields + dayTokensField]!) >> 1]!;
    const day = leftOfDay > 0 ? leftOfDay / tpd : 0;
    if (day < least) {
      least = day;
      tightest.tokensAt = address;
      tightest.tokensMetric = tokensPerDay;
      tightest.tokensScope = scope;
    }
  }
};
