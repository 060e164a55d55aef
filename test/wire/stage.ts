import { carryOut, planFirstRun } from '../../src/admin/organization/first-run.ts';
import type { FirstRun } from '../e2e/server.ts';
import { context, wholeGateway } from '../support/whole-gateway.ts';

/** A gateway of this process on a port of its own, over a store in memory, with two organizations as first starts make them. */
export const wire = async () => {
  const at = await wholeGateway();
  const server = await at.listen();
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const organization = async (): Promise<FirstRun> => {
    const plan = planFirstRun(at.admin);
    await carryOut(at.admin, plan, context);
    await at.settled({ position: at.store.log.at(-1)!.position });
    return { ...plan, base_url: baseUrl };
  };
  return {
    baseUrl,
    clock: at.clock,
    first: await organization(),
    other: await organization(),
    async close() {
      await server.drain(0);
      await at.close();
    },
  };
};
