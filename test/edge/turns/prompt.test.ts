import { type JSONValue, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { capabilityTags, planSupport, queries, runCode } from "../../../src/byref.ts";
import type { RuntimeOptions } from "../../../src/edge/create-runtime.ts";
import * as schemas from "../../../src/edge/openapi/schemas.ts";
import type { PromptDescription } from "../../../src/turn/describe-prompt.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import { ask, call, callWith, json, newId, ORIGIN, problemIn, put } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";

const LONG = "A paragraph. ".repeat(200);

const writer: Agent = { name: "writer", description: "Writes.", instructions: "", tools: {} };
const shop: Agent = {
  name: "shop",
  description: "Answers questions about orders.",
  instructions: "Look orders up.",
  tools: {
    list_rows: tool({
      description: "All rows.",
      inputSchema: z.object({ of: z.string().optional() }),
      execute: () => Array.from({ length: 300 }, (_, id) => ({ id })),
    }),
    read_text: tool({ inputSchema: z.object({}), execute: () => LONG }),
    count: tool({ inputSchema: z.object({ rows: z.array(z.unknown()) }), execute: () => 1 }),
  },
};

/** All optional features of a Worker. */
const ALL = { code: runCode, queries, plans: planSupport() };

interface Talk {
  readonly own: OwnRuntime;
  /** The prompts that the model received, one for each call. */
  readonly calls: ReturnType<typeof scriptedModel>["calls"];
  /** Sends a message, and returns the answer's metadata. */
  say(message: string): Promise<{ readonly savings: { readonly promptChars: number } }>;
}

function talk(
  { agents = [shop], ...options }: Partial<RuntimeOptions>,
  steps: readonly Step[],
  work: (talk: Talk) => Promise<void>,
): Promise<void> {
  const model = scriptedModel(steps);
  return withRuntime({ agents, model, ...options }, (own) =>
    work({
      own,
      calls: model.calls,
      async say(message) {
        const init = json({ message }, { accept: "application/json" });
        const response = await own.call("POST", "/conversations/c/messages", init);
        expect(response.status).toBe(200);
        return response.json();
      },
    }),
  );
}

async function promptOf(own: OwnRuntime, query = ""): Promise<PromptDescription> {
  const response = await own.call("GET", `/agents/shop/prompt${query}`);
  expect(response.status).toBe(200);
  return schemas.prompt().parse(await response.json()) as PromptDescription;
}

const ANSWER: Step = [text("Well."), finish("stop")];

/** Returns the definitions of the tools that a description lists as sent, in the provider's form. */
function definitionsIn({ tools }: PromptDescription): readonly unknown[] {
  return tools
    .filter(({ sent }) => sent)
    .map(({ name, description, inputSchema }) => ({
      type: "function",
      name,
      inputSchema,
      ...(description === undefined ? {} : { description }),
    }));
}

describe("the prompt of an agent, over HTTP", () => {
  it.each<readonly [string, Partial<RuntimeOptions>]>([
    ["a plain Worker", {}],
    ["a Worker with a sandbox, tables and plans", ALL],
    ["an agent that asks another", { agents: [{ ...shop, delegates: ["writer"] }, writer] }],
    ["full instructions", { agents: [{ ...shop, instructionStyle: "full" }] }],
    ["minimal instructions", { agents: [{ ...shop, instructionStyle: "minimal" }] }],
    ["no instructions", { agents: [{ ...shop, instructions: "", instructionStyle: "none" }] }],
    ["output paths", { agents: [{ ...shop, outputPath: true, variableTools: false }] }],
    ["tools as tags", { agents: [{ ...shop, toolCalls: capabilityTags }], ...ALL }],
  ])("is what the model receives in the first call: %s", async (_, options) => {
    await talk(options, [ANSWER], async ({ own, calls, say }) => {
      const prompt = await promptOf(own);
      const question = "What is there?";
      const { savings } = await say(question);
      const [received] = calls;
      const [first] = received?.prompt ?? [];
      const instructions = first?.role === "system" ? first.content : "";
      expect(prompt.instructions).toEqual({ text: instructions, chars: instructions.length });
      const tools = received?.tools ?? [];
      expect(prompt.toolChars).toBe(tools.length === 0 ? 0 : JSON.stringify(tools).length);
      expect(prompt.messages).toEqual([{ role: "user", chars: 0 }]);
      expect(prompt.sentChars).toBe(instructions.length + prompt.toolChars);
      if (tools.length === 0) return;
      expect(JSON.stringify(definitionsIn(prompt))).toBe(JSON.stringify(tools));
      expect(savings.promptChars).toBe(prompt.sentChars + question.length);
      const sizes = prompt.tools.filter(({ sent }) => sent).map(({ chars }) => chars);
      expect(sizes).toEqual(tools.map((one) => JSON.stringify(one).length));
    });
  });

  it("lists what is sent later, from when on, and its size", async () => {
    const steps: readonly Step[] = [[toolCall("read_text", {}), finish("tool-calls")], ANSWER];
    await talk(ALL, steps, async ({ own, calls, say }) => {
      const prompt = await promptOf(own);
      const from = Object.fromEntries(
        prompt.tools.map(({ name, offeredFrom, sent }) => [name, [offeredFrom, sent]]),
      );
      expect(from).toMatchObject({
        list_rows: [undefined, true],
        set_variable: ["start", true],
        run_code: ["start", true],
        read_variable: ["variable", false],
        query_variables: ["variable", false],
        search_variable: ["text", false],
        edit_variable: ["text", false],
      });
      expect(prompt.guide).toMatchObject({ sent: false });
      const question = "Read it.";
      await say(question);
      const last = calls.at(-1);
      const tail = last?.prompt.at(-1)?.content.at(0);
      // After the handle of a text, all tools are offered, and the guide comes last.
      expect(last?.tools?.map(({ name }) => name)).toEqual(prompt.tools.map(({ name }) => name));
      expect(tail).toMatchObject({ text: expect.stringContaining(prompt.guide?.text ?? "?") });
      expect(prompt.laterChars).toBe(
        JSON.stringify(last?.tools).length - prompt.toolChars + (prompt.guide?.chars ?? 0),
      );
    });
  });

  it("is stored nowhere, calls no model, and creates no conversation", async () => {
    await talk(ALL, [], async ({ own, calls }) => {
      await promptOf(own);
      expect(calls).toEqual([]);
      await problemIn(
        await own.call("GET", "/agents/shop/prompt?conversation=c"),
        "conversation_not_found",
      );
      expect((await own.call("GET", "/conversations/c")).status).toBe(404);
    });
  });
});

describe("the prompt of a conversation", () => {
  const steps: readonly Step[] = [
    [toolCall("list_rows", {}), finish("tool-calls")],
    [text("All: $list_rows_1[0].id"), finish("stop")],
    ANSWER,
  ];

  it("has its messages, the guide and the variables, as in the next call", async () => {
    await talk(ALL, steps, async ({ own, calls, say }) => {
      const before = await promptOf(own);
      await say("Which rows?");
      await own.call("PUT", "/conversations/c/variables/limit", json(7));
      const prompt = await promptOf(own, "?conversation=c");
      expect(prompt.guide).toEqual({ ...before.guide, sent: true });
      expect(prompt.laterChars).toBeLessThan(before.laterChars);
      const question = "And now?";
      const { savings } = await say(question);
      const { prompt: sent = [], tools } = calls.at(-1) ?? {};
      expect(JSON.stringify(definitionsIn(prompt))).toBe(JSON.stringify(tools));
      const [, ...messages] = sent;
      expect(messages.map(({ role }) => role)).toEqual(prompt.messages.map(({ role }) => role));
      expect(messages.at(-1)?.content).toEqual([{ type: "text", text: prompt.tail?.text }]);
      expect(prompt.tail?.text).toContain("$limit: number");
      expect(prompt.tail?.chars).toBe(prompt.messages.at(-1)?.chars);
      expect(savings.promptChars).toBe(prompt.sentChars + question.length);
      const parts = prompt.messages.reduce((sum, { chars }) => sum + chars, 0);
      expect(prompt.sentChars).toBe(prompt.instructions.chars + prompt.toolChars + parts);
    });
  });

  it("outlines what the next turn compacts", async () => {
    const agents = [{ ...shop, historyChars: 4_000 }] as const;
    const turns = 14;
    const answers = Array.from({ length: turns }, (_, at): Step => [
      text(`${at} ${"x".repeat(600)}`),
      finish("stop"),
    ]);
    await talk({ ...ALL, agents }, answers, async ({ own, calls, say }) => {
      const kinds = new Set<string>();
      let outline = 0;
      for (let turn = 1; turn <= turns; turn++) {
        const meta = () =>
          own.state.storage.sql.exec("SELECT * FROM meta WHERE key = 'outline'").toArray();
        const stored = turn === 1 ? [] : meta();
        const prompt = turn === 1 ? undefined : await promptOf(own, "?conversation=c");
        if (prompt !== undefined) expect(meta()).toEqual(stored);
        const question = "?";
        const { savings } = await say(question);
        const { prompt: sent = [], tools } = calls.at(-1) ?? {};
        if (prompt === undefined) continue;
        expect(JSON.stringify(definitionsIn(prompt))).toBe(JSON.stringify(tools));
        const [, ...messages] = sent;
        expect(prompt.messages.map(({ role }) => role)).toEqual(messages.map(({ role }) => role));
        expect(savings.promptChars).toBe(prompt.sentChars + question.length);
        const last = messages.at(-1)?.content.at(0);
        if (prompt.tail !== undefined) expect(last).toMatchObject({ text: prompt.tail.text });
        const lines = JSON.stringify(messages[0]).split("user: ").length;
        kinds.add(lines === outline ? "as before" : outline < 2 ? "compacts" : "compacts again");
        outline = lines;
      }
      expect(kinds).toEqual(new Set(["as before", "compacts", "compacts again"]));
    });
  });

  it("is not changed by reading it", async () => {
    await talk(ALL, steps, async ({ own, say }) => {
      await say("Which rows?");
      const rows = () =>
        own.state.storage.sql.exec("SELECT count(*) AS rows FROM variable").toArray();
      const stored = rows();
      const prompt = await promptOf(own, "?conversation=c");
      expect(await promptOf(own, "?conversation=c")).toEqual(prompt);
      expect(rows()).toEqual(stored);
    });
  });

  it("has no sealed value, and is the same for every value of its length", async () => {
    const sizeOf = async (value: JSONValue) => {
      const id = newId();
      await put(id, "pin?visibility=sealed", value as string);
      const response = await call("GET", `/agents/weather/prompt?conversation=${id}`);
      return response.text();
    };
    const one = await sizeOf("sesame");
    expect(one).toContain("$pin: string (6) sealed");
    expect(one).not.toContain("sesame");
    expect(await sizeOf("secret")).toBe(one);
  });
});

describe("the route", () => {
  it("needs a key, a known agent and an existing conversation", async () => {
    const closed = callWith({});
    const { name } = await anAgent();
    await problemIn(await closed("GET", `/agents/${name}/prompt`), "unauthorized");
    await problemIn(await closed("GET", "/agents"), "unauthorized");
    await problemIn(await call("GET", "/agents/nobody/prompt"), "not_found");
    const path = `/agents/${name}/prompt?conversation=`;
    await problemIn(await call("GET", `${path}${newId()}`), "conversation_not_found");
    await problemIn(await call("GET", `${path}..`), "bad_request");
    await problemIn(await call("GET", path), "bad_request");
  });

  it("shows nothing of another tenant's conversation", async () => {
    const keys = { AUTH: "bearer", API_KEYS: JSON.stringify({ [KEYS[0]]: "a", [KEYS[1]]: "b" }) };
    const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
    const tenants = callWith(keys);
    const id = newId();
    const { headers } = as(KEYS[0]);
    await tenants("PUT", `/conversations/${id}/variables/x`, json(1, headers));
    const { name } = await anAgent();
    const path = `${ORIGIN}/agents/${name}/prompt?conversation=${id}`;
    expect((await tenants("GET", path, as(KEYS[0]))).status).toBe(200);
    await problemIn(await tenants("GET", path, as(KEYS[1])), "conversation_not_found");
  });

  it("shows what is sent to the deployed Worker's agents", async () => {
    const { name } = await anAgent();
    const response = await call("GET", `/agents/${name}/prompt`);
    const prompt = schemas.prompt().parse(await response.json());
    const { savings } = await ask(newId(), "Hello.", { agent: name });
    expect(savings.promptChars).toBe(prompt.sentChars + "Hello.".length);
  });
});

const KEYS = ["a".repeat(40), "b".repeat(40)] as const;

async function anAgent() {
  const response = await call("GET", "/agents");
  const { agents } = await response.json<{ agents: readonly { name: string }[] }>();
  const [agent = { name: "" }] = agents;
  return agent;
}
