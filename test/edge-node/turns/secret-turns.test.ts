import { tool, type ToolSet } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { ToolPolicy } from "../../../src/tool/policy.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import { json, problemIn } from "../../support/edge.ts";
import { any, greedy } from "../../support/greedy-tools.ts";
import { leaksIn, SECRET, watchConsole } from "../../support/leaks.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  type ScriptedModel,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";

afterEach(() => vi.restoreAllMocks());

const asked = finish("tool-calls");
const C = "/conversations/c";

interface Played extends OwnRuntime {
  readonly model: ScriptedModel;
}

interface Play {
  readonly tools: ToolSet;
  readonly policies?: Readonly<Record<string, ToolPolicy>>;
  readonly steps: readonly Step[];
  readonly more?: Partial<Agent>;
}

function play<Result>(
  { tools, policies = {}, steps, more }: Play,
  work: (own: Played) => Promise<Result>,
): Promise<Result> {
  const model = scriptedModel(steps);
  const agent = { name: "test", description: "For tests.", instructions: "Help.", tools };
  const agents = [{ ...agent, policies, ...more }] as const;
  return withRuntime({ agents, model }, (own) => work({ ...own, model }));
}

async function putAt({ call }: OwnRuntime, at: string, value: unknown): Promise<VariableInfo> {
  const response = await call("PUT", `${C}/variables/${at}`, json(value));
  expect(response.status).toBe(201);
  return response.json<VariableInfo>();
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

/** Returns the events as a new client receives them in a stream. */
async function liveEvents({ call }: OwnRuntime): Promise<string> {
  const response = await call("GET", `${C}/events`, { headers: { accept: "text/event-stream" } });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let events = "";
  while (!/turn\.(?:done|failed)/.test(events)) {
    const read = await reader?.read();
    if (read?.done !== false) break;
    events += read.value;
  }
  await reader?.cancel();
  return events;
}

/** Returns everything that has left the conversation in any way, including prompts. */
async function everything(own: Played): Promise<string> {
  const told: unknown[] = [own.model.calls.map(({ prompt, tools }) => [prompt, tools])];
  const paths = ["", "/variables", "/messages", "/messages?form=reference", "/events"];
  for (const path of paths) told.push(await getText(own, path));
  told.push(await getText(own, "/variables", "text/markdown"), await liveEvents(own));
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
    const play1 = { tools, policies: all, steps: [[...spying, asked], ...steps] as Step[] };
    await play({ ...play1, more: { naming } }, async (own) => {
      await putAt(own, "token?visibility=secret", SECRET);
      await putAt(own, "record?visibility=secret", { user: "Ada", token: SECRET });
      const stream = await say(own, "Go on.");
      expect(stream.status).toBe(200);
      const heard = [await stream.text()];
      heard.push(await (await say(own, "And as JSON?", "application/json")).text());
      heard.push(await (await say(own, "And as text?", "text/plain")).text());
      expect(heard[0]).toContain('"finishReason":"stop"');
      expect(seen).toEqual([SECRET, `Bearer ${SECRET}.`, SECRET, { user: "Ada", token: SECRET }]);
      for (const printed of heard) expect(printed).toContain("[secret: token]");
      own.wakeAgain();
      heard.push(await everything(own), said());
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
