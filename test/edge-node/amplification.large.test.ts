import { beforeAll, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { workOf } from "../support/count-work.ts";
import { filled, listOf, MAX_INPUT_CHARS, nested } from "../support/long-inputs.ts";
import { NodeRuntime } from "../support/node-runtime.ts";
import { tool } from "ai";
import * as z from "zod";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../packages/transfer/src/transfers.ts";
import { capabilityWorkflows } from "../../packages/plan-formats/src/capability/capability-workflows.ts";
import { templates } from "../../packages/plan-formats/src/template/templates.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { History } from "../../src/turn/history/history.ts";
import { EventLog } from "../../src/turn/log/event-log.ts";
import { type WatchedSql } from "../store/watched-sql.ts";
import { finish, scriptedModel, text } from "byref/testing";

/** Number of variables in `full`, besides the three of 15 MB. */
const SMALL_VARIABLES = 1_050;

const echo = tool({ inputSchema: z.object({}).loose(), execute: () => "ok" });

/** A runtime with the conversation `full`, whose values, inputs, messages and events are near their limits. */
async function fullConversation(): Promise<NodeRuntime> {
  const step = [text("Done."), finish()];
  const runtime = new NodeRuntime({
    agents: [
      { name: "a", description: "", instructions: "", tools: { echo }, approvesPlan: () => true },
    ],
    model: scriptedModel(Array.from({ length: 100 }, () => step)),
    plans: planSupport(templates, capabilityWorkflows),
    transfer: transfers,
  });
  const { sql } = runtime.objectOf("full");
  migrate(sql, Date.now());
  await fillStore(sql);
  fillLogs(sql);
  // Turns that were never in a prompt are read once, for the outline.
  await runtime.ask("POST", "/conversations/full/messages", {
    headers: { "content-type": "application/json", accept: "application/json" },
    body: '{"message":"x"}',
  });
  return runtime;
}

async function fillStore(sql: WatchedSql): Promise<void> {
  const store = new SqlStore(sql);
  for (const name of ["a", "b", "c"]) {
    await store.save({ name, value: { x: name.repeat(15_000_000), y: 1 } });
  }
  for (let n = 0; n < SMALL_VARIABLES; n++) {
    const written = "i".repeat(n < 50 ? limits.maxRecordBytes - 1_000 : 4_000);
    await store.save({ name: `made_${n}`, value: n, tool: "t", input: { written } });
  }
}

function fillLogs(sql: WatchedSql): void {
  const events = new EventLog(sql);
  for (let n = 1; n <= limits.maxEntries; n++) {
    events.add({ type: "tool.called", tool: "t".repeat(300), toolCallId: "c".repeat(300) });
    if (n % 500 === 0) events.flush();
  }
  const history = new History(sql);
  for (let n = 0; n < 300; n++) {
    const said = "m".repeat(n < 20 ? limits.maxMessageBytes / 2 : 300);
    history.add({
      id: `m${n}`,
      role: n % 2 === 0 ? "user" : "assistant",
      parts: [{ type: "text", text: said }],
      createdAt: new Date(n * 1_000).toISOString(),
    });
  }
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  /** Default: JSON. */
  readonly type?: string;
}

/** Upper bounds of characters that are read, parsed, written, serialized or returned, and of visited elements. */
const most = {
  /** A rejected body is read several times, and is not quoted. */
  body: 20 * MAX_INPUT_CHARS,
  events: 1_000_000,
  messages: limits.maxPageChars + MAX_INPUT_CHARS,
  variables: limits.maxItems * (limits.maxListedInputBytes + 1_000),
  metadata: 3 * limits.maxRecordBytes,
  files: limits.maxBatchItems * 10_000,
  deleted: SMALL_VARIABLES * (limits.maxListedInputBytes + 4_000),
  plan: limits.maxReadWork + limits.maxJsonBytes,
  run: limits.maxRunReadWork + limits.maxParallelCalls * limits.maxJsonBytes,
};

const at = (path: string) => `/conversations/full${path}`;
const get = (path: string): Sent => ({ method: "GET", path: at(path) });
const post = (path: string, body: string, type?: string): Sent => ({
  method: "POST",
  path: at(path),
  body,
  ...(type === undefined ? {} : { type }),
});
const patch = (path: string, body: string): Sent => ({ method: "PATCH", path: at(path), body });
const chat = (body: string): Sent => ({ method: "POST", path: "/conversations", body });
const imported = (records: string): Sent => ({
  method: "POST",
  path: "/conversations/import",
  body: `{"type":"byref","version":1,"id":"i","title":null,"createdAt":"${NOW}"}\n${records}\n`,
  type: "application/x-ndjson",
});
const NOW = "2026-11-22T00:00:00.000Z";

const message = `{"type":"message","message":{"id":"m","role":"user","parts":[…],"createdAt":"${NOW}"}}`;
const variable = (n: number) =>
  `{"type":"variable","info":{"name":"v${n}","visibility":"model","sources":[],"trusted":true,"version":1,"bytes":1,"mediaType":"application/json","createdAt":"${NOW}","updatedAt":"${NOW}","pinned":false}}\n{"type":"data","base64":"MQ=="}`;
const room = "…".padEnd(500, " ");
/** Each call refers to values of 15 MB, which evict one another from the cache. */
const referring = `{"calls":[${listOf(200, () => `{"_tool":"echo","x":[${listOf(25, (n) => `"†${"abc"[n % 3]}.y"`).join(",")}]}`).join(",")}]}`;
const deepPaths = ["/messages", "/interpolate", "/plans", "/plans/x/run", "/approvals/x", "/fork"];

/** Requests that are refused, or of which little is read. */
const bodies: Readonly<Record<string, Sent>> = {
  "metadata: a description that is too long": patch(
    "/variables/a",
    `{"description":"${"d".repeat(60_000)}"}`,
  ),
  "message: invalid parts": post(
    "/messages",
    filled('{"message":{"parts":[…]}}', () => "1"),
  ),
  "approvals: of calls that do not wait": chat(
    filled(
      '{"id":"full","messages":[{"role":"assistant","parts":[…]}]}',
      (n) =>
        `{"type":"tool-x","state":"approval-responded","approval":{"id":"${n}","approved":true}}`,
    ),
  ),
  "import: messages": imported(
    filled(room, (n) => message.replace('"m"', `"m${n}"`).replace("…", ""), "\n"),
  ),
  "import: variables": imported(filled(room, variable, "\n")),
  "import: events": imported(
    filled('{"type":"events","events":[…]}', (n) => `{"id":${n + 1},"at":"${NOW}","type":"x"}`),
  ),
  "import: a deep message": imported(nested(message.replace("…", '{"type":"data-x","data":…}'))),
  ...Object.fromEntries(deepPaths.map((path) => [`deep JSON: ${path}`, post(path, nested())])),
  "deep JSON: metadata": patch("/variables/a", nested('{"description":…}')),
  "deep JSON: a value": { method: "PUT", path: at("/variables/deep"), body: nested() },
  "plan: a deep parameter": post("/plans", nested('{"calls":[{"_tool":"echo","x":…}]}')),
  "plan: deep XML": post(
    "/plans",
    `${"<a>".repeat(9_000)}${"</a>".repeat(9_000)}`,
    "application/xml",
  ),
  "plan: a tag of many attributes": post(
    "/plans",
    filled('<workflow><capability name="echo" …/></workflow>', (n) => `a${n}="1"`, " "),
    "application/xml",
  ),
  "plan: a template of directives": post(
    "/plans",
    filled("## x\n…\nprompt", () => "@input file:**", "\n"),
    "text/markdown",
  ),
};
const data = (n: number) => `{"type":"file","mediaType":"text/plain","url":"data:,${n}"}`;

const requests: readonly (readonly [what: string, most: number, sent: Sent])[] = [
  ["events: the first page", most.events, get("/events")],
  ["messages: a page of the longest", most.messages, get("/messages?limit=200&before=m20")],
  ["variables: a page", most.variables, get("/variables")],
  ["variables: as Markdown", most.variables, get("/variables?last=1000")],
  ["metadata: of a long input", most.metadata, patch("/variables/made_1", '{"pinned":true}')],
  [
    "message: 100 files",
    most.files,
    post("/messages", `{"message":{"parts":[${listOf(100, data)}]}}`),
  ],
  ["plan: proposed, with references to large values", most.plan, post("/plans", referring)],
  ["variables: all deleted", most.deleted, { method: "DELETE", path: at("/variables") }],
  ...Object.entries(bodies).map(([what, sent]) => [what, most.body, sent] as const),
];

let runtime: NodeRuntime;

beforeAll(async () => void (runtime = await fullConversation()));

/** Sends a request, and returns the largest count, including the answer's length. */
async function largestOf({ method, path, body, type = "application/json" }: Sent) {
  const answer = { status: 0, text: "" };
  const done = await workOf(runtime.counted, async () => {
    const headers = { "content-type": type, accept: "application/json" };
    const response = await runtime.ask(method, path, body === undefined ? {} : { headers, body });
    answer.status = response.status;
    answer.text = await response.text();
  });
  const largest = Math.max(...Object.values(done), answer.text.length);
  return { ...answer, largest };
}

it.each(requests)("%s: 64 KiB to a full conversation do bounded work", async (_, bound, sent) => {
  const { status, largest } = await largestOf(sent);
  expect(status).toBeLessThan(500);
  expect(largest).toBeLessThanOrEqual(bound);
});
