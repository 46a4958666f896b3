import type { Hono } from "hono/tiny";
import type { AppEnv } from "../app.ts";
import type { Described } from "../openapi/document.ts";
import { transferApi } from "../openapi/transfer-operations.ts";
import { transferRoutes } from "../routes/transfer.ts";
import { type TransferOptions, TransferRequests } from "./transfer-requests.ts";

/** What lets conversations be moved: what the Worker serves, and what a conversation does. */
export interface Transfers {
  routes(): Hono<AppEnv>;
  readonly api: Described;
  requests(options: TransferOptions): TransferRequests;
}

/** Export, import and fork: what an application hands to `createRuntime` to have them. */
export const transfers: Transfers = {
  routes: transferRoutes,
  api: transferApi,
  requests: (options) => new TransferRequests(options),
};
