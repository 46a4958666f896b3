import { transferApi } from "../openapi/transfer-operations.ts";
import { transferRoutes } from "../routes/transfer.ts";
import { retentionIn, TransferRequests, type Transfers } from "./transfer-requests.ts";

/** Export, import and fork: what an application hands to `createRuntime` to have them. */
export const transfers: Transfers = {
  routes: transferRoutes,
  api: transferApi,
  retentionIn,
  requests: (context) => new TransferRequests(context),
};
