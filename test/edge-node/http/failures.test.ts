import { expect, it, vi } from "vitest";
import type { RuntimeOptions } from "../../../src/edge/create-runtime.ts";
import { transfers } from "../../../packages/transfer/src/transfers.ts";
import { finish, scriptedModel, text } from "byref/testing";
import { Steps } from "../../../src/turn/steps.ts";
import { json } from "../../support/edge.ts";
import { NodeRuntime } from "../../support/node-runtime.ts";

/** A value that a message of an error may quote. */
const VALUE = "4929-1234 at /home (secret.ts:1:1)\n    at 4929-1234 (secret.ts:1:1)";

function broken(): never {
  throw new TypeError(VALUE);
}

function runtimeWith(options: Partial<RuntimeOptions> = {}, bindings: object = {}): NodeRuntime {
  const agents = [{ name: "a", description: "", instructions: "", tools: {} }] as const;
  const model = scriptedModel([[text("Hi."), finish()]]);
  return new NodeRuntime({ agents, model, transfer: transfers, ...options }, bindings);
}

/**
 * Returns the lines that are logged from now on, without those of turns of an earlier file, whose object has been
 * killed, but whose code still runs in this process (`node-object.ts`).
 */
function logged(): readonly unknown[] {
  const lines: unknown[] = [];
  const add = (line: unknown) => {
    if (!String(line).includes('"at":["alive (')) lines.push(line);
  };
  for (const method of ["error", "warn", "log"] as const) {
    vi.spyOn(console, method).mockImplementation(add);
  }
  return lines;
}

/** Fails at the first statement like this. */
function failsIn(runtime: NodeRuntime, statement: RegExp, error: Error): void {
  let isOver = false;
  const { sql } = runtime.objectOf("c");
  const all = sql.all.bind(sql);
  vi.spyOn(sql, "all").mockImplementation((sent, ...bindings) => {
    if (!isOver && statement.test(sent)) {
      isOver = true;
      throw error;
    }
    return all(sent, ...bindings);
  });
}

const ACCEPT_JSON = { headers: { accept: "application/json", "content-type": "application/json" } };
const ask = (runtime: NodeRuntime) =>
  runtime.ask("POST", "/conversations/c/messages", { ...ACCEPT_JSON, body: '{"message":"Hi"}' });
const put = (runtime: NodeRuntime) =>
  runtime.ask("PUT", "/conversations/c/variables/v", json({ a: 1 }));

interface Failure {
  readonly request: string;
  readonly code?: string;
  readonly cause?: string;
  readonly options?: Partial<RuntimeOptions>;
  readonly bindings?: object;
  readonly fail: (runtime: NodeRuntime) => Promise<Response>;
}

const EVENTS = "GET /conversations/:id/events";
const PUT = "PUT /conversations/:id/variables/:name";
const readEvents = (runtime: NodeRuntime) => runtime.ask("GET", "/conversations/c/events");

const failures: Readonly<Record<string, Failure>> = {
  "a read in the object": {
    request: EVENTS,
    async fail(runtime) {
      await (await put(runtime)).text();
      failsIn(runtime, /FROM event/u, new TypeError(VALUE));
      return readEvents(runtime);
    },
  },
  "a write in the object": {
    request: PUT,
    async fail(runtime) {
      failsIn(runtime, /CREATE TABLE/u, new TypeError(VALUE));
      return put(runtime);
    },
  },
  "a full disk": {
    request: PUT,
    code: "storage_full",
    cause: "ByrefError",
    async fail(runtime) {
      failsIn(runtime, /CREATE TABLE/u, new Error(`database or disk is full: ${VALUE}`));
      return put(runtime);
    },
  },
  "an object that cannot be reached": {
    request: EVENTS,
    bindings: { CONVERSATIONS: { idFromName: String, get: () => ({ fetch: broken }) } },
    fail: readEvents,
  },
  "the Worker": { request: "GET /*", options: { authenticator: broken }, fail: readEvents },
  "an import": {
    request: "POST /transfer/import",
    async fail(runtime) {
      await (await put(runtime)).text();
      const file = await (await runtime.ask("GET", "/conversations/c/export")).text();
      await runtime.ask("DELETE", "/conversations/c");
      failsIn(runtime, /(?:INSERT|REPLACE) .*INTO variable/u, new TypeError(VALUE));
      return runtime.ask("POST", "/conversations/import", { body: file });
    },
  },
  "a turn that has begun": {
    request: "turn",
    async fail(runtime) {
      vi.spyOn(Steps.prototype, "open").mockRejectedValue(new TypeError(VALUE));
      return ask(runtime);
    },
  },
  "a turn's model": {
    request: "POST /conversations/:id/messages",
    options: { model: broken },
    fail: ask,
  },
};

it.each(Object.entries(failures))(
  "a failure is one line in the log, and has its id in %s",
  async (_, failure) => {
    const { request, code = "internal", cause = "TypeError", options, bindings, fail } = failure;
    const lines = logged();
    const response = await fail(runtimeWith(options, bindings));
    const problem = await response.json<{ readonly instance: string }>();
    expect(problem).toMatchObject({ code, instance: expect.stringMatching(/^urn:uuid:/u) });
    expect(lines.join()).not.toMatch(/4929|secret/u);
    expect(JSON.stringify(problem)).not.toContain("4929");
    // `npm start` passes on lines of this form.
    expect(lines).toEqual([expect.stringMatching(/^\{"event":/u)]);
    const parsed = lines.map((line): unknown => JSON.parse(String(line)));
    expect(parsed).toEqual([
      {
        event: "failed",
        id: problem.instance.replace("urn:uuid:", ""),
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/u),
        code,
        ...(request === "GET /*" ? {} : { tenant: "local" }),
        conversation: "c",
        request,
        cause: {
          name: cause,
          at: expect.arrayContaining([expect.stringMatching(/:\d+:\d+\)?$/u)]),
        },
      },
    ]);
  },
);
