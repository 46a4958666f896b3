/** The part of `cloudflare:workers` that the runtime uses, for tests in plain Node. */
export class DurableObject {
  protected readonly ctx: unknown;
  protected readonly env: unknown;

  constructor(ctx: unknown, env: unknown) {
    this.ctx = ctx;
    this.env = env;
  }
}

export class RpcTarget {
  readonly isRemote = true;
}

let ids = 0;

/** Bindings of the test Worker that need no platform. Its objects come from `cloudflare-test-in-node.ts`. */
export const env = {
  AUTH: "none",
  LOG: "off",
  CONVERSATIONS: {
    newUniqueId: () => `object ${++ids}`,
    idFromName: (name: string) => name,
    get: (id: string) => id,
  },
};
