import { tool, type ToolExecutionOptions } from "ai";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import type { AgentContext } from "../../src/edge/agent-types.ts";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import { mcpGateway } from "../../packages/gateway/src/conversation/conversation-gateway.ts";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../packages/transfer/src/transfers.ts";
import { finish, scriptedModel, type Step, text, toolCall } from "byref/testing";
import { codeTool } from "../../packages/code/src/code-tool.ts";
import { evaluatingSandbox } from "../support/evaluating-sandbox.ts";
import { NodeRuntime } from "../support/node-runtime.ts";
import { toolOf } from "../support/tool-of.ts";

/** What an application knows of each tenant. */
const TICKETS: Readonly<Record<string, string>> = { acme: "Printer", globex: "Roof" };

const contextSchema = z.object({ tenant: z.string(), principal: z.string() });

const tickets = tool({
  inputSchema: z.object({}),
  contextSchema,
  execute: (_, { context: { tenant, principal } }) => `${TICKETS[tenant]} of ${principal}`,
});

const close = tool({
  inputSchema: z.object({}),
  contextSchema,
  needsApproval: (_, { context }) => context.tenant === "acme",
  execute: (_, { context }) => `closed for ${context.principal}`,
});

let stalls = 0;

/** Hangs once, until its process dies. */
const slow = tool({
  inputSchema: z.object({}),
  contextSchema,
  execute: (_, { context }) =>
    stalls-- > 0 ? new Promise<string>(() => undefined) : `slow for ${context.principal}`,
});

const called = (name: string, input = {}): Step => [toolCall(name, input), finish("tool-calls")];
const SAID: Step = [text("Done."), finish()];

const HELPER = {
  name: "helper",
  description: "Helps.",
  instructions: ({ tenant, principal }: AgentContext) => `You help ${principal} of ${tenant}.`,
  tools: { tickets },
};

function runtimeWith(steps: readonly Step[], more: Partial<RuntimeOptions> = {}) {
  const model = scriptedModel(steps);
  const runtime = new NodeRuntime({
    agents: [
      {
        name: "clerk",
        description: "",
        instructions: ({ tenant }) => `You work for ${tenant}.`,
        // A tenant has only its own tools.
        tools: ({ tenant }) => ({
          tickets,
          close,
          slow,
          ...(tenant === "acme" && { acme_only: tickets }),
        }),
        effects: { slow: "none" },
        delegates: ["helper"],
      },
      HELPER,
    ],
    model,
    authenticator: (request) => {
      const [tenant = "", principal = ""] = (request.headers.get("x-user") ?? "").split("/");
      return { tenant, principal, claims: { plan: `${tenant} gold` } };
    },
    code: () => (options) => codeTool({ ...options, sandbox: evaluatingSandbox }),
    plans: planSupport(),
    transfer: transfers,
    gateway: mcpGateway,
    ...more,
  });
  /** `user`: a user, or headers with one. */
  const ask = async (user: string | Headers, route: string, body?: unknown) => {
    const [method = "", path = ""] = route.split(" ");
    const init = {
      headers: {
        ...(typeof user === "string" ? { "x-user": user } : Object.fromEntries(user)),
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const response = await runtime.ask(method, path, init);
    return { status: response.status, text: await response.text() };
  };
  const say = (user: string | Headers) =>
    ask(user, "POST /conversations/c/messages", { message: "Go." });
  const lastPrompt = () => JSON.stringify(model.calls.at(-1)?.prompt);
  return { runtime, model, ask, say, lastPrompt };
}

const PLAN = { calls: [{ _tool: "tickets", _outputPath: "†found" }] };

/** Runs a plan, and returns what is answered. */
async function ranFor(
  user: string,
  { ask }: Pick<ReturnType<typeof runtimeWith>, "ask">,
  plan: object = PLAN,
) {
  const { text: made } = await ask(user, "POST /conversations/c/plans", plan);
  const { id } = JSON.parse(made) as { id: string };
  await ask(user, `POST /conversations/c/plans/${id}/approve`, {});
  return (await ask(user, `POST /conversations/c/plans/${id}/run`, {})).text;
}

/** How a tool can be called. Each returns what it answered to the user. */
const CALLERS: Readonly<Record<string, (user: string) => Promise<string>>> = {
  turn: async (user) => {
    const { say, lastPrompt } = runtimeWith([called("tickets"), SAID]);
    await say(user);
    return lastPrompt();
  },
  code: async (user) => {
    const code = "return `in code: ${await tools.tickets({})}`";
    const steps = [called("tickets"), called("run_code", { code }), SAID];
    const { say, lastPrompt } = runtimeWith(steps);
    await say(user);
    return lastPrompt().split("in code: ").at(-1) ?? "";
  },
  delegate: async (user) => {
    const asked = called("delegate", { agent: "helper", task: "Look." });
    const { say, model } = runtimeWith([asked, called("tickets"), SAID, SAID]);
    await say(user);
    return JSON.stringify(model.calls[2]?.prompt);
  },
  plan: (user) => ranFor(user, runtimeWith([])),
  "a client of the gateway": async (user) => {
    const { ask } = runtimeWith([]);
    const rpc = (method: string, params: object, from = user) => {
      const message = { jsonrpc: "2.0", id: 1, method, params };
      return ask(from, "POST /conversations/c/mcp?agent=helper", message);
    };
    const clientInfo = { name: "test", version: "1" };
    await rpc("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    // Another person uses the same conversation first.
    const call = { name: "tickets", arguments: {} };
    await rpc("tools/call", call, `${user}-before`);
    return (await rpc("tools/call", call)).text;
  },
};

it.each(Object.entries(CALLERS))("two tenants get their own data from %s", async (_, answerTo) => {
  expect(await answerTo("acme/ada")).toMatch(/Printer of ada(?!-)/u);
  expect(await answerTo("globex/gus")).toMatch(/Roof of gus(?!-)/u);
});

it("the idempotency key of a tool differs between tenants for conversations of the same name, and does not name the tenant", async () => {
  const keys: string[] = [];
  type Options = ToolExecutionOptions<unknown> & { readonly idempotencyKey?: string };
  const pay = toolOf({}, (_, { idempotencyKey = "" }: Options) => keys.push(idempotencyKey));
  const clerk = { name: "clerk", description: "", instructions: "", tools: { pay } };
  const given = runtimeWith([called("pay"), SAID, called("pay"), SAID], { agents: [clerk] });
  for (const user of ["acme/ada", "globex/gus"]) {
    await given.say(user);
    await ranFor(user, given, { calls: [{ _tool: "pay", _id: "it" }] });
  }
  expect(keys).toHaveLength(4);
  const owners = keys.map((key) => /^([0-9a-f]{64})\/[0-9a-z-]+\/(?:0\/0|it)$/.exec(key)?.[1]);
  expect(new Set(owners)).toHaveProperty("size", 2);
  expect(owners).not.toContain(undefined);
  expect(owners.slice(0, 2)).toEqual([owners[0], owners[0]]);
});

it("prompts contain what the application writes, and nothing else of who asks", async () => {
  const { say, model } = runtimeWith([called("tickets"), SAID]);
  await say("acme/ada");
  const sent = JSON.stringify(model.calls);
  expect(sent).toContain("You work for acme.");
  expect(sent).not.toContain("acme gold");
  expect(sent).not.toContain("env");
});

it("an approval that another person decides runs the call for the one who asked, even after a restart; both are in the audit", async () => {
  const { runtime, ask, say, lastPrompt } = runtimeWith([called("close"), SAID]);
  const { text: asked } = await say("acme/ada");
  const [, approval] = /"approvalId":"([^"]+)"/u.exec(asked) ?? [];
  runtime.kill();
  await ask("acme/boss", `POST /conversations/c/approvals/${approval}`, { approved: true });
  expect(lastPrompt()).toContain("closed for ada");
  const { text: listed } = await ask("acme/ada", "GET /conversations/c/events");
  const { events } = JSON.parse(listed) as { events: readonly Record<string, unknown>[] };
  expect(events).toContainEqual(
    expect.objectContaining({ type: "approval.granted", approval, principal: "boss" }),
  );
  const started = events.filter(({ type }) => type === "turn.started");
  expect(started.map(({ principal }) => principal)).toEqual(["ada", "ada"]);
  // Another tenant's question about the same tool needs no approval.
  expect((await ask("globex/gus", `GET /conversations/c/messages`)).text).not.toContain("ada");
});

it("so does one that is decided after the run of a plan by another person", async () => {
  const { ask, say, lastPrompt } = runtimeWith([called("close"), SAID]);
  const [, approval] = /"approvalId":"([^"]+)"/u.exec((await say("acme/ada")).text) ?? [];
  expect(await ranFor("acme/boss", { ask })).toContain("Printer of boss");
  await ask("acme/boss", `POST /conversations/c/approvals/${approval}`, { approved: true });
  expect(lastPrompt()).toContain("closed for ada");
});

it("who asked is not stored any longer than a turn needs it", async () => {
  const { runtime, say } = runtimeWith([called("close"), SAID, SAID]);
  const stored = () => JSON.stringify(objectOfAda().sql.all(`SELECT head FROM turn`));
  const objectOfAda = () => runtime.objectNamed(JSON.stringify(["acme", "c"]));
  await say("acme/ada");
  expect(stored()).toContain("acme gold");
  // The call that waits is dropped by another question.
  await say("acme/ada");
  expect(stored()).not.toContain("acme gold");
});

it("a turn that a crash interrupts continues for the one who asked", async () => {
  stalls = 1;
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { runtime, say, ask, lastPrompt } = runtimeWith([called("slow"), SAID]);
  void say("acme/ada").catch(() => undefined);
  await vi.waitFor(() => expect(stalls).toBe(0));
  runtime.kill();
  await ask("acme/boss", "GET /conversations/c/messages");
  await vi.waitFor(() => expect(lastPrompt()).toContain("slow for ada"), { timeout: 20_000 });
});

it("what another cannot do is to name a tenant or a principal in a header, a body or a history", async () => {
  const { ask, say, lastPrompt } = runtimeWith([called("tickets"), SAID, called("tickets"), SAID]);
  const identity = encodeURIComponent(JSON.stringify({ tenant: "globex", principal: "gus" }));
  await say(new Headers({ "x-user": "acme/ada", "x-byref-identity": identity }));
  expect(lastPrompt()).toContain("Printer of ada");
  const context = { tenant: "globex", principal: "gus" };
  const body = {
    id: "c",
    tenant: "globex",
    context,
    messages: [
      { id: "1", role: "user", parts: [{ type: "text", text: "Go." }], metadata: context, context },
    ],
  };
  await ask("acme/ada", "POST /conversations", body);
  expect(lastPrompt()).toContain("Printer of ada");
  expect(lastPrompt()).not.toContain("Roof");
});

it("claims of an application's own function are JSON, as a tool's result, or nobody is let in", async () => {
  const seen: unknown[] = [];
  const claims: Record<string, unknown> = { roles: new Set(["staff"]), of: new Map([["a", 1]]) };
  const { say } = runtimeWith([SAID], {
    authenticator: () => ({ tenant: "acme", claims }),
    agents: [{ ...HELPER, instructions: (context) => String(seen.push(context.claims)) }],
  });
  await say("acme/ada");
  expect(seen).toEqual([{ roles: ["staff"], of: { a: 1 } }]);
  claims.token = new Uint8Array(2);
  expect((await say("acme/ada")).text).toContain("bad_value");
});

it("functions of who asks choose the model, the policies and the retention", async () => {
  const seen: unknown[] = [];
  const { say } = runtimeWith([], {
    model: (_, env, context) => {
      seen.push([context?.tenant, context?.conversation, typeof env]);
      return scriptedModel([called("act"), SAID]);
    },
    agents: [
      {
        name: "clerk",
        description: "",
        instructions: "",
        tools: { act: tool({ inputSchema: z.object({}), execute: () => "acted" }) },
        policies: ({ claims }) => ({ act: { approval: claims?.["plan"] !== "acme gold" } }),
      },
    ],
    retention: ({ tenant, conversation }) => {
      seen.push([tenant, conversation]);
      return {};
    },
  });
  expect((await say("acme/ada")).text).toContain("Done.");
  expect((await say("globex/gus")).text).toContain("tool-approval-request");
  expect(seen).toContainEqual(["acme", "c", "object"]);
  expect(seen).toContainEqual(["globex", "c"]);
});
