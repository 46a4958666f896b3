/** What `cloudflare:workers` gives the runtime, for tests that run it in plain Node. */
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
