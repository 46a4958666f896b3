import type { VariableStore } from "../../store/variable-store.ts";
import type { VariableInfo } from "../../store/variable.ts";
import type { ConversationData } from "../conversation-data.ts";
import type { Deletion } from "../deletion.ts";
import { putVariable } from "./put-variable.ts";
import { etagOf } from "./etags.ts";
import { serveValue } from "./serve-value.ts";
import { missingVariable, secretVariable } from "./variable-errors.ts";

export interface VariableRequestsOptions {
  readonly deletion: Deletion;
  /** Undefined until something is written. */
  readonly data: () => ConversationData | undefined;
  /** Empty, and of no cost, until something is written. */
  readonly store: () => VariableStore;
  /** Makes the tables, and sets the alarm. */
  readonly wake: () => ConversationData;
  /** Sees to what a change leaves behind. */
  readonly settle: () => Promise<void>;
}

/** Values, streamed in and out of a conversation. */
export class VariableRequests {
  readonly #options: VariableRequestsOptions;

  constructor(options: VariableRequestsOptions) {
    this.#options = options;
  }

  async fetch(name: string, request: Request): Promise<Response> {
    if (request.method === "PUT") return this.put(name, request);
    const info = this.info(name);
    if (info.visibility === "secret") throw secretVariable(name);
    return serveValue(this.#options.store(), info, request);
  }

  info(name: string): VariableInfo {
    const store = this.#options.store();
    const info = store.info(name);
    if (info === undefined) throw missingVariable(name, store);
    return info;
  }

  async put(name: string, request: Request): Promise<Response> {
    const { deletion, data, wake, settle } = this.#options;
    try {
      const { info, isNew } = await deletion.stoppably((signal) =>
        putVariable(wake().store, { name, request, signal }),
      );
      const headers = { etag: etagOf(info), "x-byref-name": info.name };
      return Response.json(info, { status: isNew ? 201 : 200, headers });
    } finally {
      // A first write that is refused makes no conversation.
      const isNothing = data()?.isEmpty === true && deletion.isIdle;
      await (isNothing ? deletion.start() : settle());
    }
  }
}
