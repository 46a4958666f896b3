import { ByrefError } from "../../src/errors.ts";

type Fetching = { fetch(request: Request): Promise<Response> };

/** Wraps the object as a stub: each method returns a promise, and errors keep their own properties. */
export function remoteOf(conversation: () => Promise<object>): object {
  return new Proxy(
    {},
    {
      get: (_, method) => {
        if (method === "then") return undefined;
        return async (...parameters: readonly unknown[]) => {
          const target = await conversation();
          if (method === "fetch") {
            const [url, init] = parameters as [string, RequestInit | undefined];
            // Node requires `duplex` for a streaming body.
            return (target as Fetching).fetch(
              new Request(url, { ...init, duplex: "half" } as RequestInit),
            );
          }
          const found: unknown = Reflect.get(target, method);
          if (typeof found !== "function") throw new ByrefError("internal", String(method));
          return structuredClone(await Reflect.apply(found, target, parameters));
        };
      },
    },
  );
}
