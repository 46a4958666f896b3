import type { Bindings } from "./bindings.ts";
import type { ClientBody } from "./http/client-body.ts";

/** The types of every Hono context. */
export interface AppEnv {
  Bindings: Bindings;
  Variables: {
    /** Whose request it is, as the door said. */
    tenant: string;
    body: ClientBody;
  };
}
