import { ByrefError } from "../../errors.ts";
import type { LeaseOffice } from "../../turn/spend/lease-office.ts";
import { pause } from "../../turn/model/model-failure.ts";
import type { SpendLimits, TenantLimits } from "../../turn/spend/spend.ts";
import type { ObjectContext } from "../conversation-name.ts";
import { askDirectory, directoryOf, type RemoteDirectory } from "./directory-of.ts";
import type { TurnContext } from "../turns/turn-queue.ts";

/** Throws `bad_configuration` where there is no directory that could keep a limit. */
export function requireDirectory({ tenant }: SpendLimits, env: object): void {
  if (tenant === undefined || directoryOf(env, "") !== undefined) return;
  const message = "A tenant's spend is limited where DIRECTORY is bound; see wrangler.toml.";
  throw new ByrefError("bad_configuration", message);
}

/** What a conversation's turns may spend, and where that of the tenant's is had, if there is a limit of it. */
export function spendingOf({
  spendLimits,
  ...place
}: ObjectContext & { readonly spendLimits: SpendLimits }): Pick<
  TurnContext,
  "spendLimits" | "leases"
> {
  const { tenant } = spendLimits;
  return { spendLimits, leases: tenant && leasesFrom(place, tenant) };
}

/** The tenant's directory. Where it cannot be asked nothing is spent: `spend_unavailable`. */
function leasesFrom(place: ObjectContext, limits: TenantLimits): LeaseOffice {
  /** Undefined if each try has failed. Both calls may be made again without harm. */
  const ask = async <Answer>(
    delaysMs: readonly number[],
    call: (directory: RemoteDirectory) => Promise<Answer>,
  ): Promise<Answer | undefined> => {
    for (const delayMs of delaysMs) {
      await pause(delayMs);
      try {
        return await askDirectory(place, call);
      } catch (error) {
        console.error(error);
      }
    }
    return undefined;
  };
  return {
    limits,
    async take(claim) {
      const grant = await ask(TAKE_DELAYS_MS, (directory) => directory.take(claim));
      if (grant !== undefined) return grant;
      const message = "What the tenant has spent cannot be had now; try again later.";
      throw new ByrefError("spend_unavailable", message);
    },
    settle(settled) {
      place.state.waitUntil(ask(SETTLE_DELAYS_MS, (directory) => directory.settle(settled)));
    },
  };
}

/** Before each try. */
const TAKE_DELAYS_MS = [0, 200, 1_000];
const SETTLE_DELAYS_MS = [0, 1_000, 10_000, 60_000];
