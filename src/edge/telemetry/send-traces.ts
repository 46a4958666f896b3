import * as limits from "../../limits.ts";
import { withoutTrailingSlash } from "../models/model.ts";

export interface Collector {
  /** Of all signals; the path of traces is put behind it. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Undefined if the collector has taken them, else why not: a status, or what went wrong. Never rejects. */
export async function sendTraces(
  { endpoint, headers }: Collector,
  request: object,
): Promise<string | undefined> {
  try {
    const url = new URL(endpoint);
    // What is behind the path stays there: some collectors take their key in the query.
    url.pathname = `${withoutTrailingSlash(url.pathname)}/v1/traces`;
    const response = await fetch(url.href, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(request),
      // What is sent along is for this collector, and no other.
      redirect: "manual",
      signal: AbortSignal.timeout(limits.exportMs),
    });
    await response.body?.cancel();
    return response.ok ? undefined : `status ${response.status}`;
  } catch (error) {
    // Its message may hold the address.
    return error instanceof Error && error.name === "TimeoutError" ? "timeout" : "unreachable";
  }
}
