import type { VariableInfo } from "../../store/variable.ts";
import type { ConversationContext } from "../conversation-context.ts";
import { putVariable } from "./put-variable.ts";
import { etagOf } from "./etags.ts";
import { serveValue } from "./serve-value.ts";
import { missingVariable, secretVariable } from "./variable-errors.ts";

/** Values, streamed in and out of a conversation. */
export class VariableRequests {
  readonly #context: ConversationContext;

  constructor(context: ConversationContext) {
    this.#context = context;
  }

  async fetch(name: string, request: Request): Promise<Response> {
    if (request.method === "PUT") return this.put(name, request);
    const info = this.info(name);
    if (info.visibility === "secret") throw secretVariable(name);
    return serveValue(this.#context.store, info, request);
  }

  info(name: string): VariableInfo {
    const { store } = this.#context;
    const info = store.info(name);
    if (info === undefined) throw missingVariable(name, store);
    return info;
  }

  async put(name: string, request: Request): Promise<Response> {
    const context = this.#context;
    const { deletion } = context;
    try {
      const { info, isNew } = await deletion.stoppably((signal) =>
        putVariable(context.wake().store, { name, request, signal }),
      );
      const headers = { etag: etagOf(info), "x-byref-name": info.name };
      return Response.json(info, { status: isNew ? 201 : 200, headers });
    } finally {
      // A first write that is refused creates no conversation.
      const isNothing = context.data?.isEmpty === true && deletion.isIdle;
      await (isNothing ? deletion.start() : context.settle());
    }
  }
}
