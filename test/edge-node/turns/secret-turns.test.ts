import { tool, jsonSchema, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { type VariableInfo } from "../../../src/store/variable.ts";
import { json, problemIn } from "../../support/edge.ts";
import { leaksIn, SECRET, watchConsole } from "../../support/leaks.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { readUntil } from "../../support/turn-client.ts";
import {
  finish,
  type ScriptedModel,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "byref/testing";
import * as z from "zod";

/** A tool input that may be anything. */
const any = z.object({ key: z.any() });

/** Tools that try every way to expose a secret. */
const greedy = {
  echo: tool({ inputSchema: any, execute: ({ key }) => key }),
  nest: tool({
    inputSchema: any,
    execute: ({ key }) => ({ deep: [{ [key]: 1 }, new Map([[key, new Date(0)]])], [key]: key }),
  }),
  long: tool({ inputSchema: any, execute: ({ key }) => [key, "x".repeat(50_000), key] }),
  huge: tool({ inputSchema: any, execute: ({ key }) => [key.repeat(800_000)] }),
  fail: tool({
    inputSchema: any,
    execute: ({ key }): unknown => {
      throw Object.assign(new Error(`No user has ${key}.`), { code: key, details: { key } });
    },
  }),
  own: tool({
    inputSchema: any,
    execute: ({ key }): unknown => {
      throw Object.assign(new Error(key), { code: "path_not_found", details: { keys: [key] } });
    },
  }),
  bare: tool({ inputSchema: any, execute: ({ key }) => Promise.reject<unknown>(key) }),
  refuse: tool({
    inputSchema: jsonSchema<{ key: string }>(
      { type: "object" },
      {
        validate: (value) => ({
          success: false,
          error: Object.assign(new Error(JSON.stringify(value)), {
            issues: [{ path: ["key", JSON.stringify(value)], message: JSON.stringify(value) }],
          }),
        }),
      },
    ),
    execute: () => 1,
  }),
  unkeepable: tool({
    inputSchema: any,
    execute: ({ key }) => {
      const cycle: Record<string, unknown> = {};
      cycle[key] = cycle;
      return cycle;
    },
  }),
  yields: tool({
    inputSchema: any,
    async *execute({ key }) {
      yield key;
      yield [key, key];
    },
  }),
  warn: tool({
    inputSchema: any,
    execute: ({ key }) => ({ toString: () => key, toJSON: () => ({ key }) }),
  }),
} satisfies ToolSet;

const asked = finish("tool-calls");
const C = "/conversations/c";

async function putSecret({ call }: OwnRuntime, name: string, value: unknown): Promise<void> {
  const response = await call("PUT", `${C}/variables/${name}?visibility=secret`, json(value));
  expect(response.status).toBe(201);
}

function say({ call }: OwnRuntime, message: string, accept = "text/event-stream") {
  return call("POST", `${C}/messages`, json({ message }, { accept }));
}

async function getText({ call }: OwnRuntime, path: string, accept = "*/*"): Promise<string> {
  const { status, headers, body } = await call("GET", `${C}${path}`, { headers: { accept } });
  return `${status} ${JSON.stringify([...headers])} ${await new Response(body).text()}`;
}

async function infosIn({ call }: OwnRuntime): Promise<readonly VariableInfo[]> {
  const response = await call("GET", `${C}/variables`);
  return (await response.json<{ variables: readonly VariableInfo[] }>()).variables;
}

/** Returns everything that has left the conversation in any way, including prompts. */
async function everything(own: OwnRuntime, model: ScriptedModel): Promise<string> {
  const told: unknown[] = [model.calls.map(({ prompt, tools }) => [prompt, tools])];
  const paths = ["", "/variables", "/messages", "/messages?form=reference", "/events"];
  for (const path of paths) told.push(await getText(own, path));
  told.push(await getText(own, "/variables", "text/markdown"));
  const headers = { accept: "text/event-stream" };
  told.push(await readUntil(await own.call("GET", `${C}/events`, { headers }), "turn.done"));
  for (const { name } of await infosIn(own)) {
    told.push(name, await getText(own, `/variables/${name}`));
    told.push(await getText(own, `/variables/${name}/info`));
  }
  const body = { text: "$token {{token}} $echo_1 {{echo_1.token}}", syntax: "mustache" };
  told.push(await (await own.call("POST", `${C}/interpolate`, json(body))).text());
  return JSON.stringify(told);
}

describe("a secret in a turn", () => {
  const policies = Object.fromEntries(
    Object.keys(greedy).map((name) => [name, { secrets: ["token", "record"] }]),
  );
  const names = Object.keys(greedy);
  const inputs = ["$token", "Bearer $token.", "$record.token", "$record", "$record.none"];
  const steps: readonly Step[] = [
    ...inputs.map((key, step): Step => {
      const calls = names.map((name) => toolCall(name, { key }, { id: `${name}_${step}` }));
      return [...calls, asked];
    }),
    [
      text(
        "The key: $token, `$token`, $record.token, $record[*], $echo_1, $nest_1.deep, $long_1[0]\n$record\n$nest_1",
      ),
      finish(),
    ],
    [text("Once more: $token $warn_1"), finish()],
    [text("And $yields_1, $token"), finish()],
  ];

  it("reaches the tool that may have it, and nobody else, whatever the tool does", async () => {
    const said = watchConsole();
    const seen: unknown[] = [];
    const spy = tool({ inputSchema: any, execute: ({ key }) => seen.push(key) });
    const tools = { ...greedy, spy };
    const spying = inputs.map((key, step) => toolCall("spy", { key }, { id: `spy_${step}` }));
    const all = { ...policies, spy: { secrets: ["token", "record"] } };
    const naming = (_tool: string, input: unknown, output: unknown) =>
      `${JSON.stringify(input)}${JSON.stringify(output)}`;
    const agent = { name: "test", description: "For tests.", instructions: "Help.", tools };
    const model = scriptedModel([[...spying, asked], ...steps]);
    await withRuntime({ agents: [{ ...agent, policies: all, naming }], model }, async (own) => {
      await putSecret(own, "token", SECRET);
      await putSecret(own, "record", { user: "Ada", token: SECRET });
      const stream = await say(own, "Go on.");
      expect(stream.status).toBe(200);
      const heard = [await stream.text()];
      heard.push(await (await say(own, "And as JSON?", "application/json")).text());
      heard.push(await (await say(own, "And as text?", "text/plain")).text());
      expect(heard[0]).toContain('"finishReason":"stop"');
      expect(seen).toEqual([SECRET, `Bearer ${SECRET}.`, SECRET, { user: "Ada", token: SECRET }]);
      for (const printed of heard) expect(printed).toContain("[secret: token]");
      own.wakeAgain();
      heard.push(await everything(own, model), said());
      expect(heard.join("").length).toBeGreaterThan(50_000);
      expect(leaksIn(heard.join("\n"))).toEqual([]);
      // Every value that was derived from it is secret as well.
      const infos = await infosIn(own);
      const made = infos.filter(({ tool: name }) => name !== undefined);
      expect(made.length).toBeGreaterThan(20);
      for (const info of made) {
        expect(info).toMatchObject({ visibility: "secret", preview: "" });
        expect(info.shape).toBe(info.type);
        expect(info.sources).toEqual([`tool:${info.tool}`, "caller"]);
        const value = await own.call("GET", `${C}/variables/${info.name}`);
        await problemIn(value, "variable_secret");
      }
    });
  });
});
