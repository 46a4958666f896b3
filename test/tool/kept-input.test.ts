import type { ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { Labels, Taint } from "../../src/store/labels.ts";
import type { MemoryStore } from "../../src/store/memory-store.ts";
import { editVariable } from "../../src/tool/edit/edit-variable.ts";
import { wrapRuntimeTool, wrapTool } from "../../src/tool/tool-call.ts";
import type { AnyTool, CallOptions, WrapOptions } from "../../src/tool/wrapped-tool.ts";
import type { Json } from "../../src/value/json.ts";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation } from "../support/turn.ts";
import { call, run, storeWith } from "../support/wrapped.ts";

const LONG = "x".repeat(1_000);
const input = { path: "a.txt", text: `${LONG} colour` };

/** A tool that writes files into memory, but none above its folder. */
function fileTool(written: Json[]): AnyTool {
  return {
    inputSchema: z.object({ path: z.string(), text: z.string() }),
    execute: (given: { readonly path: string }) => {
      if (given.path.startsWith("..")) throw new Error("No such folder.");
      written.push(given);
      return "written";
    },
  } as unknown as AnyTool;
}

async function files(options: Partial<WrapOptions> = {}) {
  const written: Json[] = [];
  const store = await storeWith({ note: "a note" });
  await store.save({ name: "seal", value: "sealed", visibility: "sealed" });
  const wrapped = await wrapTool("write_file", fileTool(written), { ...options, store });
  const send = async (given: Json, about: Partial<CallOptions> = {}) => {
    const ran = await run(wrapped, given, { ...call, ...about });
    return ran.kind === "failed" ? ran.message : (await ran.save()).output;
  };
  return { store, written, send };
}

it("a model that wrote a long input is offered the tool that edits it", async () => {
  const write = toolCall("write_file", { path: "../a", text: LONG });
  const again = toolCall("write_file", { path: "a", text: "$write_file_input_1.text" });
  const tools = { write_file: fileTool([]) } as ToolSet;
  const steps = [
    [write, finish("tool-calls")],
    [again, finish("tool-calls")],
    [text("Done."), finish()],
  ];
  const { calls, result } = await new Conversation({ tools }).say({ steps });
  const offered = calls.map((one) => one.tools?.map(({ name }) => name).includes("edit_variable"));
  expect(offered).toEqual([false, true, true]);
  expect(JSON.stringify(calls[1]?.prompt)).toContain(
    "No such folder. Its input is $write_file_input_1.",
  );
  expect(JSON.stringify(result.message.parts)).toContain('"value":"written"');
});

describe("a long input that a model wrote", () => {
  it("is a variable, which the result names, and can be edited and sent again", async () => {
    const { store, written, send } = await files();
    expect(await send(input)).toMatchObject({ value: "written", _input: "$write_file_input_1" });
    expect(await store.read("write_file_input_1")).toEqual(input);
    const edit = await wrapRuntimeTool(editVariable(), { store });
    const edits = [{ find: "colour", replace: "color" }];
    const edited = await run(edit, { name: "write_file_input_1.text", edits });
    if (edited.kind === "done") await edited.save();
    await send({ path: "b.txt", text: "$write_file_input_1.text" });
    expect(written.at(-1)).toEqual({ path: "b.txt", text: `${LONG} color` });
    await send("$write_file_input_1");
    expect(written.at(-1)).toEqual({ path: "a.txt", text: `${LONG} color` });
  });

  it.each<[string, Json, string]>([
    ["whose tool fails", { ...input, path: "../a" }, "No such folder. Its input is "],
    ["that does not fit the schema", { ...input, path: 1 }, " Its input is "],
  ])("%s is kept, so that it need not be written again", async (_what, given, said) => {
    const { store, send } = await files();
    const message = await send(given);
    expect(message).toContain(`${said}$write_file_input_1.`);
    expect(await store.read("write_file_input_1")).toEqual(given);
    // The same call again has the same name.
    expect(await send(given)).toBe(message);
    expect(store.count()).toBe(3);
  });

  it("is trusted like the model's own words", async () => {
    const { store, send } = await files({ taint: new Taint(true) });
    await send(input);
    expect(store.info("write_file_input_1")).toMatchObject({ trusted: false, visibility: "model" });
  });

  it.each<[string, Json, ((store: MemoryStore) => Partial<CallOptions>)?]>([
    ["is short", { path: "a", text: "short" }],
    ["has a reference", { ...input, path: "$note" }],
    ["has a reference to a sealed value", { ...input, path: "$seal" }],
    ["fails at a reference", { ...input, path: "$note.x" }],
    ["comes from a plan", input, () => ({ isPlanned: true })],
    ["comes from code", input, (store) => ({ madeOf: new Labels(store) })],
  ])("is not kept if it %s", async (_what, given, about) => {
    const { store, send } = await files();
    expect(JSON.stringify(await send(given, about?.(store)))).not.toContain("_input");
    expect(store.list().map(({ name }) => name)).not.toContain("write_file_input_1");
  });
});
