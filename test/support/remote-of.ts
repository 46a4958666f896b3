import { ByrefError } from "../../src/errors.ts";
import type { ConversationObject } from "../../src/edge/conversation.ts";

/** Methods as a stub has them: each gives a promise, and what is thrown keeps its own properties. */
export function remoteOf(conversation: () => Promise<ConversationObject>): object {
  return new Proxy(
    {},
    {
      get: (_, method) => {
        if (method === "then") return undefined;
        return async (...parameters: readonly unknown[]) => {
          const target = await conversation();
          if (method === "fetch") {
            const [url, init] = parameters as [string, RequestInit | undefined];
            // Node wants `duplex` for a body that streams.
            return target.fetch(new Request(url, { ...init, duplex: "half" } as RequestInit));
          }
          const found: unknown = Reflect.get(target, method);
          if (typeof found !== "function") throw new ByrefError("internal", String(method));
          return structuredClone(await Reflect.apply(found, target, parameters));
        };
      },
    },
  );
}
