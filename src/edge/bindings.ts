/** What a Worker may be bound to; its settings are read apart (`settings.ts`). */
export interface Bindings {
  readonly CONVERSATIONS: DurableObjectNamespace;
  /** Lists a tenant's conversations, and keeps what it spends; without it they are not listed. */
  readonly DIRECTORY?: DurableObjectNamespace;
  /** Holds values too large for rows, and files; without it values stay in the object, up to its quota. */
  readonly BLOBS?: R2Bucket;
  /** Asked for each request, by tenant; without it there may be as many as there are. */
  readonly RATE_LIMIT?: RateLimit;
  /** Runs the code of models; without it there is no `run_code`. */
  readonly LOADER?: WorkerLoader;
  /** Models of Workers AI. */
  readonly AI?: Ai;
  /** Gets a data point for each turn. */
  readonly ANALYTICS?: AnalyticsEngineDataset;
}
