import { tool, type ToolSet } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { ToolPolicy } from "../../../src/tool/policy.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import { chunksIn, framesIn, json, type MessagePage, problemIn } from "../../support/edge.ts";
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

  it("leaves no trace in values made from it when they are evicted", async () => {
    const said = watchConsole();
    await play({ tools: greedy, policies, steps: [...steps] }, async (own) => {
      await putAt(own, "token?visibility=secret", SECRET);
      await putAt(own, "record?visibility=secret", { user: "Ada", token: SECRET });
      const heard = [await (await say(own, "Go on.")).text()];
      own.state.storage.sql.exec("UPDATE variable SET accessed_at = 1");
      own.wakeAgain();
      await own.conversation().alarm();
      expect(await infosIn(own)).toEqual([]);
      for (const name of ["token", "record", "echo_1", "nest_1"]) {
        const gone = await own.call("GET", `${C}/variables/${name}`);
        heard.push(JSON.stringify(await problemIn(gone, "variable_evicted")));
      }
      heard.push(await (await say(own, "Once more?")).text());
      heard.push(await everything(own), said());
      expect(leaksIn(heard.join("\n"))).toEqual([]);
    });
  });

  it("is refused to every tool whose own policy does not list it", async () => {
    const received: unknown[] = [];
    const spy = tool({ inputSchema: any, execute: ({ key }) => received.push(key) });
    const tools = { allowed: spy, other: spy, none: spy };
    const policies = { allowed: { secrets: ["token"] }, other: { secrets: ["another"] } };
    const call = (name: string, key: string, id: string) => toolCall(name, { key }, { id });
    const steps: readonly Step[] = [
      [
        call("allowed", "$token", "a"),
        call("other", "$token", "b"),
        call("none", "Bearer $token", "c"),
        call("none", "$token.user", "d"),
        call("allowed", "$another", "e"),
        asked,
      ],
      [call("none", "$allowed_1", "f"), call("allowed", "$allowed_1", "g"), asked],
      [text("Done."), finish()],
    ];
    await play({ tools, policies, steps }, async (own) => {
      await putAt(own, "token?visibility=secret", SECRET);
      await putAt(own, "another?visibility=secret", SECRET);
      const chunks = chunksIn(await framesIn(await say(own, "Go on.")));
      const errors = chunks.flatMap((chunk) =>
        chunk.type === "tool-output-error" ? [[chunk.toolCallId, chunk.errorText] as const] : [],
      );
      expect(errors.map(([id]) => id)).toEqual(["b", "c", "d", "e", "f", "g"]);
      for (const [, errorText] of errors) expect(errorText).toMatch(/^variable_secret: /);
      expect(received).toEqual([SECRET]);
      expect(leaksIn(JSON.stringify(chunks) + (await everything(own)))).toEqual([]);
    });
  });
});

describe("a sealed value in a turn", () => {
  const rows = Array.from({ length: 40 }, (_, id) => ({ id, [`k${SECRET}`]: SECRET }));
  const tools = { ...greedy, open: greedy.echo, mail: greedy.echo };
  const policies = {
    open: { declassifies: true },
    mail: { trusted: false, sealed: true },
  } satisfies Readonly<Record<string, ToolPolicy>>;
  const call = (name: string, key: unknown, id: string) => toolCall(name, { key }, { id });

  function outputsIn(page: MessagePage) {
    const parts = page.messages.flatMap((message) => message.parts);
    return new Map(
      parts.flatMap((part) =>
        "toolCallId" in part && "output" in part ? [[part.toolCallId, part.output] as const] : [],
      ),
    );
  }

  it("is shown only to the person, and is in no prompt, event or log", async () => {
    const said = watchConsole();
    const steps: readonly Step[] = [
      [...Object.keys(greedy).map((name) => call(name, "$rows", name)), asked],
      [
        call("echo", "$rows[0].none", "none"),
        call("echo", "$rows.length", "length"),
        call("echo", "$rows[0]", "part"),
        asked,
      ],
      [text("All of it:\n\n$rows[0]\n\n$echo_1[0].id $rows.none"), finish()],
      [text("That was it."), finish()],
    ];
    await play({ tools, steps }, async (own) => {
      await putAt(own, "rows?visibility=sealed", rows);
      const streamed = await (await say(own, "Show me.")).text();
      await (await say(own, "And?")).text();
      const prompts = JSON.stringify(own.model.calls.map(({ prompt }) => prompt));
      expect(own.model.calls).toHaveLength(4);
      const events = (await getText(own, "/events")) + (await liveEvents(own));
      const reference = await getText(own, "/messages?form=reference");
      expect(leaksIn(prompts + reference + events + said())).toEqual([]);
      expect(prompts).toContain("$rows: array (40) sealed");
      // The user sees the values that the answer refers to.
      expect(leaksIn(streamed)).not.toEqual([]);
      const page = await (await own.call("GET", `${C}/messages`)).json<MessagePage>();
      const outputs = outputsIn(page);
      const visibility = "sealed";
      for (const id of ["echo", "part", "long"]) {
        expect(outputs.get(id)).toEqual({ $var: expect.any(String) as string, visibility });
      }
      const errors = JSON.stringify(page.messages).match(/"errorText":"(?:[^"\\]|\\.)*"/g) ?? [];
      // Paths without a value fail, and no key is suggested.
      expect(errors.join()).not.toMatch(/\bid\b/);
      for (const info of await infosIn(own)) expect(info.visibility).toBe(visibility);
    });
  });

  it("is unsealed only by a tool that declassifies", async () => {
    const steps: readonly Step[] = [
      [
        call("open", "$count", "open"),
        call("echo", "$count", "sealed"),
        call("mail", "Hello", "mail"),
        asked,
      ],
      [
        call("echo", ["$open_1", "$plain"], "plain"),
        call("echo", "$mail_hello", "mailed"),
        call("echo", ["$count", "$mail_hello", "$plain"], "both"),
        call("open", "$mail_hello", "still"),
        asked,
      ],
      [text("Done."), finish()],
    ];
    await play({ tools, policies, steps }, async (own) => {
      await putAt(own, "count?visibility=sealed", 42);
      await putAt(own, "plain", 1);
      await (await say(own, "Go on.")).text();
      const page = await (await own.call("GET", `${C}/messages`)).json<MessagePage>();
      const outputs = outputsIn(page);
      expect(outputs.get("open")).toEqual({ $var: "open_1", value: 42 });
      expect(outputs.get("sealed")).toEqual({ $var: "echo_1", visibility: "sealed" });
      expect(outputs.get("plain")).toMatchObject({ value: [42, 1] });
      expect(outputs.get("still")).toMatchObject({ value: "Hello" });
      const infos = await infosIn(own);
      const labels = (id: string) => {
        const info = infos.find(({ toolCallId }) => toolCallId === id);
        return [info?.visibility, info?.sources, info?.trusted];
      };
      expect(labels("open")).toEqual(["model", ["tool:open", "caller"], true]);
      expect(labels("sealed")).toEqual(["sealed", ["tool:echo", "caller"], true]);
      expect(labels("mail")).toEqual(["sealed", ["tool:mail"], false]);
      expect(labels("plain")).toEqual(["model", ["tool:echo", "tool:open", "caller"], true]);
      expect(labels("mailed")).toEqual(["sealed", ["tool:echo", "tool:mail"], false]);
      const all = ["tool:echo", "caller", "tool:mail"];
      expect(labels("both")).toEqual(["sealed", all, false]);
      expect(labels("still")).toEqual(["model", ["tool:open", "tool:mail"], false]);
      const events = await (await own.call("GET", `${C}/events`)).json<{ events: unknown[] }>();
      expect(events.events).toContainEqual(
        expect.objectContaining({
          type: "variable.saved",
          variable: expect.objectContaining({ toolCallId: "both", sources: all, trusted: false }),
        }),
      );
    });
  });
});
