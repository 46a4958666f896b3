import type { Bindings } from "./bindings.ts";
import type { ClientBody } from "./http/client-body.ts";

/** The types of every Hono context. */
export interface AppEnv {
  Bindings: Bindings;
  Variables: {
    /** The authenticated tenant. */
    tenant: string;
    body: ClientBody;
  };
}
