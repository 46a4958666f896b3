import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import worker from "../../src/index.ts";

export const ORIGIN = "http://localhost";

export type Settings = Readonly<Record<string, string>>;
export type Call = (method: string, path: string, init?: RequestInit) => Promise<Response>;

/** Calls the Worker as somebody outside does, with these settings and no other. */
export function callWith(settings: Settings): Call {
  return async (method, path, init = {}) => {
    const url = path.includes("://") ? path : `${ORIGIN}${path}`;
    const request = new Request(url, { ...init, method });
    return worker.fetch(request, { ...env, ...settings }, createExecutionContext());
  };
}

/** On this machine, without keys. */
export const call = callWith({ AUTH: "none" });
