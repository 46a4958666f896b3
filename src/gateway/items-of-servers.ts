import { messageOf } from "../errors.ts";
import type { Upstream } from "./upstream.ts";

export interface AllServers {
  readonly upstreams: readonly Upstream[];
  /** Tells a person. */
  log(line: string): void;
}

/** Lists something at all servers, in their order. A server that does not answer has none. */
export async function itemsOf<Item>(
  { upstreams, log }: AllServers,
  list: (upstream: Upstream) => Promise<readonly Item[]>,
): Promise<readonly { readonly upstream: Upstream; readonly item: Item }[]> {
  const lists = await Promise.all(
    upstreams.map(async (upstream) => {
      try {
        return (await list(upstream)).map((item) => ({ upstream, item }));
      } catch (error) {
        log(messageOf(error));
        return [];
      }
    }),
  );
  return lists.flat();
}
