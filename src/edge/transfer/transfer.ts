import type { Api } from "../api.ts";
import type { TransferParts } from "../conversation-context.ts";
import * as routes from "../routes/transfer.ts";
import { retentionIn } from "./transfer-requests.ts";

/** Support for export, import and fork, as an application passes it to `createRuntime`. */
export interface Transfers extends TransferParts {
  readonly api: Api;
}

/** Export, import and fork. */
export const transfers: Transfers = {
  retentionIn,
  api: {
    worker: routes.workerEndpoints,
    conversation: routes.conversationEndpoints,
    internal: routes.internalEndpoints,
    components: {
      ForkBody: routes.forkBody,
      Made: routes.made,
      PartTaken: routes.partTaken,
    },
  },
};
