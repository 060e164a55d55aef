import { Command } from 'commander';
import { chargeLines, microDollarsOf, priceOf } from '../../domain/usage/charge.ts';
import type { PriceDeclared } from '../../domain/usage/usage-events.ts';
import { timeOfId } from '../../ids.ts';
import type { EventStore } from '../../kernel/store/store.ts';
import { Failure } from '../../process/failure.ts';
import { declaredPrices } from '../../usage/prices.ts';
import { settlementOf } from '../../usage/settlements.ts';
import { onLog } from '../operator.ts';
import { dollars } from '../output.ts';
import { jsonOf, listing, type Output, show, showOne, timeText } from '../table/listing.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';

/** Pico-dollars as dollars, exactly. */
const exact = (pico: bigint): string => {
  const digits = String(pico).padStart(13, '0');
  return `$${digits.slice(0, -12)}.${digits.slice(-12).replace(/0{1,10}$/, '')}`;
};

/** `weir audit charge` (contract M.3). @throws Failure if the computed sum differs from the charge */
export const chargeCommand = (terminal: Terminal): Command =>
  listing(new Command('charge'))
    .description('Work out what a request cost, from the events of its account and its price')
    .argument('<request>', 'req_…')
    .action(async (id: string, options: Output) => {
      const begunAt = id.startsWith('req_') ? timeOfId(id) : null;
      if (begunAt === null) throw new UsageError(`${printable(id)} is not the id of a request: req_…`);
      await onLog(terminal, async ({ store }) => {
        const settlement = await settlementOf(store, id, begunAt);
        if (settlement === undefined)
          throw new Failure(`No account of ${id} is in the log, which keeps them for 400 days.`);
        const declared = await priceNamed(store, settlement.price);
        const price = priceOf(declared.model, declared.pricing);
        const lines = chargeLines(price, settlement);
        const computed = microDollarsOf(price, settlement);
        const tier = settlement.details?.service_tier;
        const json = jsonOf(terminal, options);
        if (json) {
          const sum = lines.map(({ kind, count, price: each, pico }) => ({
            kind,
            count,
            price: each,
            pico_dollars: String(pico),
          }));
          json.add({ settlement, declared, sum, micro_dollars: computed });
          json.end();
        } else {
          const { request_id: _, ...of } = settlement;
          const about = {
            at: of.settled_at,
            organization: of.organization_id,
            project: of.project_id,
            key: of.key_id,
            model: of.model,
            ...(of.requested_model != null && { requested_model: of.requested_model }),
            counted: of.usage_source,
            ...(of.reasoning_tokens != null && { reasoning_tokens: of.reasoning_tokens }),
            status: of.status,
            ...(tier !== undefined && { service_tier: price.tiers.has(tier) ? tier : `${tier}, which has no prices` }),
          };
          showOne(terminal, about, options, { at: 'time', organization: 'id', project: 'id', key: 'id' });
          terminal.out('\n');
          show(
            terminal,
            lines.map(({ kind, count, price: each, pico }) => ({ kind, count, price: each, sum: exact(pico) })),
            options,
          );
          terminal.out(
            `${dollars(computed)}, at ${declared.price}, declared ${timeText(declared.at, options.utc)}; charged: ${dollars(of.micro_dollars)}\n`,
          );
        }
        if (price.id !== settlement.price || computed !== settlement.micro_dollars) {
          throw new Failure(`The account of ${id} says ${dollars(settlement.micro_dollars)}, which is not the sum.`);
        }
      });
    });

const priceNamed = async (
  store: Pick<EventStore, 'read'>,
  id: string,
): Promise<PriceDeclared & { readonly at: number }> => {
  for await (const declared of declaredPrices(store)) if (declared.price === id) return declared;
  throw new Failure(`The price ${id} is not in the log.`);
};
