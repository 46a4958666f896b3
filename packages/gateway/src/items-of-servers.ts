import { messageOf } from "../../../src/errors.ts";
import { withTimeLimit } from "../../../src/internal.ts";
import * as limits from "./gateway-limits.ts";
import type { Upstream } from "./upstream.ts";

export interface AllServers {
  readonly upstreams: readonly Upstream[];
  /** Tells a person. */
  log(line: string): void;
}

/** Lists something at all servers, in their order. A server that does not answer in time has none. */
export async function itemsOf<Item>(
  { upstreams, log }: AllServers,
  list: (upstream: Upstream) => Promise<readonly Item[]>,
): Promise<readonly { readonly upstream: Upstream; readonly item: Item }[]> {
  const lists = await Promise.all(
    upstreams.map(async (upstream) => {
      try {
        const listed = await withTimeLimit(limits.gatewayListMs, () => list(upstream));
        return listed.map((item) => ({ upstream, item }));
      } catch (error) {
        log(messageOf(error));
        return [];
      }
    }),
  );
  return lists.flat();
}
