import type { Identity } from "../tool/identity.ts";
import type { ClientBody } from "./http/client-body.ts";

/** The types of every Hono context. */
export interface AppEnv {
  Bindings: Bindings;
  Variables: {
    /** Who asks: the authenticated tenant, with the principal and claims that the authenticator found. */
    identity: Identity;
    body: ClientBody;
  };
}

/** Bindings of the Worker. Settings are read separately (`settings.ts`). */
export interface Bindings {
  /** Missing in an application that does not bind it yet. */
  readonly CONVERSATIONS?: DurableObjectNamespace;
  /**
   * Indexes a tenant's conversations, and stores its spend and programs. Optional: without it conversations are not
   * listed, and there are no programs.
   */
  readonly DIRECTORY?: DurableObjectNamespace;
  /** Stores files, and values too large for rows. Without it values stay in the object, up to its quota. */
  readonly BLOBS?: R2Bucket;
  /** Runs queries, one object for each conversation. Without it variables cannot be queried. */
  readonly TABLES?: DurableObjectNamespace;
  /** Rate limit, checked for each request by tenant. Without it requests are not limited. */
  readonly RATE_LIMIT?: RateLimit;
  /** Runs code written by models. Without it there is no `run_code`. */
  readonly LOADER?: WorkerLoader;
  readonly AI?: Ai;
  /** Receives a data point for each turn. */
  readonly ANALYTICS?: AnalyticsEngineDataset;
}
