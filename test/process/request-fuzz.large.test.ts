import { rmSync } from "node:fs";
import fc from "fast-check";
import { SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AnswerCheck, type Answered } from "../support/answer-check.ts";
import type { OpenApi } from "../../src/edge/openapi/document.ts";
import { type FuzzedRequest, PROGRAMS, requestsOf } from "../support/request-fuzz.ts";
import { freePort } from "../../scripts/local-server.ts";
import { type PlainServer, startPlain, stop } from "../support/plain-server.ts";
import { temporaryFolder } from "../support/server.ts";
import { samples } from "../support/slow.ts";

const CALLS = samples(36_000);
/** Another seed makes other requests: `SEED=7`. */
const USUAL_SEED = 20_261_126;
/** Number of simultaneous requests. */
const AT_ONCE = 16;
/** Time after which endless streams are closed, in milliseconds. */
const LISTENS_MS = 500;
/** Number of ids of earlier answers that are reused in paths. */
const MAX_KNOWN = 6;

/** Maximum share of the calls that never succeed in a run: the order of requests differs. */
const MAX_UNREACHED = 0.3;

/** Calls with rules beyond their schemas: texts of earlier answers, or parts of values without any. */
const MORE_THAN_SCHEMAS = /before|tickets|socket|variables\/\{name\}.* (?:offset|limit)/u;

describe("requests made from GET /openapi.json", () => {
  const stateDir = temporaryFolder();
  const secret = "secret-of-the-one-tenant-0123456789";
  let authorization: string;
  const plans: { readonly id: string; readonly conversation: string }[] = [];
  let server: PlainServer;
  let origin: string;
  let document: OpenApi;

  beforeAll(async () => {
    // Of a user, whose values have calls too.
    const token = new SignJWT({ tenant: "tenant", sub: "ada" }).setProtectedHeader({
      alg: "HS256",
    });
    const signed = token.setExpirationTime("1d").sign(new TextEncoder().encode(secret));
    authorization = `Bearer ${await signed}`;
    server = startPlain({
      PORT: String(await freePort()),
      STATE_DIR: stateDir,
      AUTH: "jwt",
      JWT_SECRET: secret,
      JWT_TENANT_CLAIM: "tenant",
      LOG: "off",
    });
    origin = (await server.url) ?? "";
    const response = await fetch(`${origin}/openapi.json`, { headers: { authorization } });
    document = (await response.json()) as OpenApi;
    const plan = { calls: [{ _tool: "list_orders", _outputPath: "†state.orders" }] };
    const own = { body: JSON.stringify(plan), isValid: true, query: { agent: "orders" } };
    const headers = { accept: "application/json", "content-type": "application/json" };
    for (const program of PROGRAMS) {
      const names = { program, id: "one" };
      for (const [method, route] of [
        ["PUT", "/programs/{program}"],
        ["POST", "/conversations/{id}/plans"],
      ] as const) {
        const { status, text } = await send({ ...own, method, route, names, headers });
        expect(status, text).toBeLessThan(300);
      }
    }
  });

  afterAll(async () => {
    if (server !== undefined) await stop(server);
    rmSync(stateDir, { recursive: true, force: true });
  });

  it(`${CALLS} of them are answered as documented, without a server error`, async () => {
    const seed = Number(process.env.SEED ?? USUAL_SEED);
    const check = new AnswerCheck(document);
    const faults: string[] = [];
    const statuses = new Map<number, number>();
    const reached = new Set<string>();
    const requests = fc.sample(requestsOf(document), { numRuns: CALLS, seed }).entries();
    const work = async () => {
      for (const [number, request] of requests) {
        const { method, route } = request;
        const answered = await send(request).catch((error: unknown) => noAnswer(error));
        statuses.set(answered.status, (statuses.get(answered.status) ?? 0) + 1);
        if (answered.status < 300) reached.add(`${method} ${route}`);
        const fault = isElsewhere(request)
          ? undefined
          : (check.faultOf(method, route, answered) ?? refused(request, answered));
        if (fault !== undefined) {
          faults.push(`seed ${seed}, ${number}: ${JSON.stringify(request)}: ${fault}`);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    console.log(`seed ${seed}: ${JSON.stringify(Object.fromEntries([...statuses].sort()))}`);
    expect(faults.slice(0, 5), server.output().slice(-4_000)).toEqual([]);
    expect(await (await fetch(`${origin}/health`)).json()).toMatchObject({ ok: true });
    const calls = Object.entries(document.paths).flatMap(([route, operations]) =>
      Object.keys(operations)
        .map((method) => `${method.toUpperCase()} ${route}`)
        .filter(() => !isOfFiles(route)),
    );
    const unreached = calls.filter((call) => !reached.has(call));
    // Sockets are not requested, and an approval needs a waiting call; other calls depend on luck.
    expect(unreached.length / calls.length, unreached.join(", ")).toBeLessThan(MAX_UNREACHED);
  });

  async function send(request: FuzzedRequest): Promise<Answered> {
    const { method, headers, body } = request;
    const leaving = new AbortController();
    const response = await fetch(addressOf(request), {
      method,
      headers: {
        ...Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, value.replaceAll(/[^ -~]/g, "?")]),
        ),
        authorization,
      },
      ...(body === undefined ? {} : { body }),
      signal: leaving.signal,
    });
    const type = response.headers.get("content-type")?.split(";")[0] ?? "";
    const isLive = type === "text/event-stream";
    const timer = isLive ? setTimeout(() => leaving.abort(), LISTENS_MS) : undefined;
    const text = await response.text().catch((error: unknown) => {
      if (isLive) return "";
      throw error;
    });
    clearTimeout(timer);
    remember(text, request);
    return { status: response.status, type, text };
  }

  /** Stores ids of plans for the calls that need one. */
  function remember(text: string, { names }: FuzzedRequest): void {
    const [, id] = /^\{"id":"([\w-]+)","status":"proposed"/.exec(text) ?? [];
    if (id === undefined || plans.some((plan) => plan.id === id)) return;
    plans.unshift({ id, conversation: names.id ?? "" });
    plans.splice(MAX_KNOWN);
  }

  function addressOf({ route, names, query }: FuzzedRequest): string {
    const [, index] = /^\{plan:(\d)\}$/.exec(names.plan ?? "") ?? [];
    const { id: plan = "none", conversation: id = names.id } = plans[Number(index)] ?? {};
    // A plan is requested in its own conversation.
    const known = index === undefined ? names : { ...names, plan, id };
    const path = route.replaceAll(/\{(\w+)\}/g, (_, name: "id" | "plan") =>
      encodeURIComponent(known[name] ?? ""),
    );
    return `${origin}${path}?${new URLSearchParams(query)}`;
  }
});

/** Returns true for routes of files, and for paths with dot segments, which are resolved before they are sent. */
function isElsewhere({ route, names }: FuzzedRequest): boolean {
  return isOfFiles(route) || Object.values(names).some((name) => name === "." || name === "..");
}

/** This server has no bucket: calls about files answer 501. */
function isOfFiles(route: string): boolean {
  return route.includes("/files");
}

/** Reports a broken connection as a fault. */
function noAnswer(error: unknown): Answered {
  return { status: 599, type: "", text: String(error instanceof Error ? error.cause : error) };
}

/** Returns a fault if a valid request is refused for its form. */
function refused(request: FuzzedRequest, { status, text }: Answered): string | undefined {
  const about = `${request.method} ${request.route} ${Object.keys(request.query).join(" ")}`;
  if (!request.isValid || status < 400 || MORE_THAN_SCHEMAS.test(about)) return undefined;
  const { code, detail } = JSON.parse(text) as { readonly code: string; readonly detail: string };
  const isForm = code === "bad_request" || code === "bad_json" || code === "unsupported_media_type";
  // Schemas do not say what an id consists of.
  return isForm && !detail.includes(" is not an id: ") ? detail : undefined;
}
