import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { bundleWorker, type ChaosWorker, startWorker } from "../chaos/worker.ts";
import { type OpenApi } from "../../src/edge/openapi/document.ts";
import { temporaryFolder } from "../support/server.ts";
import { post, readUntil } from "../support/turn-client.ts";
import { type Answers, approvalIn, send, shapeOf, travel } from "../versions/journey.ts";
import { Ajv2020 } from "ajv/dist/2020.js";

/** A server's response. */
type Answered = { readonly status: number; readonly type: string; readonly text: string };

/** Returns a function that returns the fault of a response by the OpenAPI document, if it has one. */
function checkedBy(document: OpenApi) {
  const formats = { "date-time": (time: string) => new Date(time).toJSON() === time };
  const ajv = new Ajv2020({ strict: false, logger: false, formats });
  ajv.addSchema({ $id: "document", components: document.components });
  const mismatch = (reference: string, text: string) =>
    ajv.validate({ $ref: `document${reference}` }, JSON.parse(text)) ? undefined : ajv.errorsText();
  return (method: string, route: string, { status, type, text }: Answered): string | undefined => {
    if (status >= 500) return `${status} ${text.slice(0, 500)}`;
    const operation = document.paths[route]?.[method.toLowerCase()];
    if (status >= 400 || operation === undefined) {
      const isProblem = type === "application/problem+json";
      return isProblem ? mismatch("#/components/schemas/Problem", text) : `an error as ${type}`;
    }
    const response = operation.responses[status];
    if (response === undefined) return `${status} is not among the answers`;
    const { content } = response;
    if (content === undefined) return undefined;
    if (!(type in content) && !("*/*" in content)) return `${type} is not among the answers`;
    const { $ref } = content["application/json"]?.schema ?? {};
    return type === "application/json" && typeof $ref === "string"
      ? mismatch($ref, text)
      : undefined;
  };
}

/**
 * `test/versions` on the sources of version 0.2.0. For that of a later release, copy the folder into its sources, run
 * `wrangler deploy --dry-run --minify --config test/versions/wrangler.toml`, and compress the bundle with Brotli.
 */
const OLD = join(import.meta.dirname, "../versions/byref-0.2.0.js.br");

type Version = "old" | "new";
/** Of the Worker, of the conversations with their tables, and of the directories. */
type Versions = readonly [worker: Version, conversations: Version, directories: Version];

const CLASSES = { CONVERSATIONS: "Conversation", DIRECTORY: "Directory", TABLES: "Tables" };

/** What models are shown of tools' schemas has another form, and a run's state has no handles for its parts. */
const GONE = /^\.tools\[\]\.inputSchema\.|^\[data-run\]\.data\.state\./u;

const folder = temporaryFolder();
let newBundle: { readonly rootPath: string; readonly scriptPath: string };
let worker: ChaosWorker | undefined;

beforeAll(async () => {
  writeFileSync(join(folder, "old.js"), brotliDecompressSync(readFileSync(OLD)));
  const path = await bundleWorker(folder, { config: "test/versions/wrangler.toml" });
  // Written by `bundleWorker`.
  const options = JSON.parse(readFileSync(path, "utf8")) as { workers: [typeof newBundle] };
  const [{ rootPath, scriptPath }] = options.workers;
  newBundle = { rootPath, scriptPath };
});

afterEach(() => worker?.kill());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts the Worker and its objects, each with its own version, on the state in the folder of this name. */
async function start(
  state: string,
  [front, conversations, directory]: Versions,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  await worker?.kill();
  const versions = { front, conversations, directory, tables: conversations };
  const durableObjects = Object.fromEntries(
    Object.entries(CLASSES).map(([binding, className]) => {
      return [binding, { className, scriptName: binding.toLowerCase(), useSQLite: true }];
    }),
  );
  const own = { old: { rootPath: folder, scriptPath: "old.js" }, new: newBundle };
  const workers = Object.entries(versions).map(([name, version]) => ({
    name,
    ...own[version],
    modules: true,
    compatibilityDate: "2026-10-01",
    compatibilityFlags: ["nodejs_compat"],
    bindings: { AUTH: "none", LOG: "off", ...settings },
    durableObjects,
    r2Buckets: { BLOBS: "blobs" },
  }));
  const stateDir = join(folder, state);
  const options = `${stateDir}.json`;
  const resourcePersistencePath = stateDir;
  const server = { host: "127.0.0.1", port: 0, cf: false, resourcePersistencePath, workers };
  writeFileSync(options, JSON.stringify(server));
  worker = await startWorker(folder, options);
  return worker.url.replace(/\/$/, "");
}

describe("while objects of a deploy have the code of 0.2.0, and others this version's", () => {
  let before: Answers;

  beforeAll(async () => {
    before = await travel(await start("old", ["old", "old", "old"]), "trip");
    const failed = [...before].filter(([, { status }]) => status >= 400);
    expect(failed).toEqual([]);
  });

  it.each<Versions>([
    ["new", "old", "old"],
    ["old", "new", "new"],
    ["new", "new", "old"],
    ["old", "old", "new"],
    ["new", "new", "new"],
  ])("%s Workers, %s conversations and %s directories answer as 0.2.0 did", async (...versions) => {
    const answers = await travel(await start(versions.join("-"), versions), "trip");
    const changed = [...before].flatMap(([request, { status, body }]) => {
      const now = answers.get(request);
      const shape = shapeOf(now?.body);
      const missing = [...shapeOf(body)].filter((place) => !shape.has(place) && !GONE.test(place));
      return now?.status === status && missing.length === 0 ? [] : [{ request, now, missing }];
    });
    expect(changed).toEqual([]);
  });

  it("what 0.2.0 did not have is unavailable until its objects have ended", async () => {
    const url = await start("later", ["new", "old", "old"]);
    expect(await send(url, "PUT /conversations/a/variables/rows", { body: [1] })).toMatchObject({
      status: 201,
    });
    for (const request of [
      "GET /programs",
      "DELETE /conversations?all=true",
      "POST /conversations/a/recompute",
    ]) {
      const body = request.startsWith("POST") ? {} : undefined;
      const answer = await send(url, request, { body });
      expect(answer, request).toMatchObject({ status: 503, body: { code: "unavailable" } });
    }
  });
});

it("this version answers as its GET /openapi.json documents", async () => {
  const url = await start("documented", ["new", "new", "new"]);
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi;
  const faultOf = checkedBy(document);
  const blanks = (route: string) => route.split("{").length;
  const routes = Object.keys(document.paths)
    .toSorted((a, b) => blanks(a) - blanks(b))
    .map((route) => [route, new RegExp(`^${route.replaceAll(/\{\w+\}/g, "[^/]+")}$`)] as const);
  const faults: unknown[] = [];
  const { fetch: send } = globalThis;
  vi.stubGlobal("fetch", async (to: string, init: RequestInit = {}) => {
    const response = await send(to, init);
    const { method = "GET" } = init;
    const { pathname } = new URL(to);
    const [route = ""] = routes.find(([, pattern]) => pattern.test(pathname)) ?? [];
    const type = response.headers.get("content-type")?.split(";")[0] ?? "";
    const text = await response.clone().text();
    const fault = faultOf(method, route, { status: response.status, type, text });
    if (fault !== undefined) faults.push({ method, pathname, fault });
    return response;
  });
  await travel(url, "trip");
  expect(faults).toEqual([]);
});

it("the state of 0.2.0 opens, and its conversations go on", async () => {
  const headers = { accept: "application/json" };
  const first = await start("state", ["old", "old", "old"]);
  const large = { text: "x".repeat(9_000_000) };
  await send(first, "PUT /conversations/kept/variables/large", { body: large });
  await send(first, "PUT /conversations/kept/variables/rows", { body: [{ n: 2 }, { n: 3 }] });
  const refund = { message: "Refund order ord_00009.", agent: "refunds" };
  const waiting = await send(first, "POST /conversations/kept/messages", { body: refund, headers });
  const orders = { message: "Show my orders.", agent: "orders" };
  await send(first, "POST /conversations/cut/messages", { body: orders, headers });
  // The model never answers: the turn is there, and open, when the process is killed.
  const second = await start("state", ["old", "old", "old"], { DELAY: "1000000" });
  const body = await post(`${second}/conversations/cut`, "Summarize my orders.", orders);
  await readUntil(body, '"start"');

  const url = await start("state", ["new", "new", "new"]);
  const read = async (path: string) => (await send(url, `GET /conversations${path}`)).body;
  await expect.poll(() => read("/cut")).toMatchObject({ status: "idle", messages: 4 });
  expect(JSON.stringify(await read("/cut/events"))).toContain("turn.recovered");
  expect(JSON.stringify(await read("/cut/messages"))).toContain("1049023.99 USD");
  expect(await read("/kept/variables/large")).toEqual(large);
  const approval = `POST /conversations/kept/approvals/${approvalIn(waiting.body)}`;
  const approved = await send(url, approval, { body: { approved: true }, headers });
  expect(JSON.stringify(approved)).toContain('"status":"refunded"');
  const query = { sql: "SELECT sum(n) AS n FROM rows" };
  const answer = await send(url, "POST /conversations/kept/query", { body: query });
  expect(answer).toMatchObject({ status: 200, body: [{ n: 5 }] });
  const { conversations } = (await read("")) as { conversations: { id: string }[] };
  expect(conversations.map(({ id }) => id).toSorted()).toEqual(["cut", "kept"]);
});
