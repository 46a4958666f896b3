import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import * as limits from "../../../src/limits.ts";
import { json } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { planning } from "../../support/planning.ts";
import {
  finish,
  type ScriptedModel,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";

const other = (size: number, visibility: string) => ({
  key: `${size}/${visibility}`,
  size,
  customMetadata: { visibility, trusted: "true", sources: "[]" },
});

/** Runs a turn that exports a variable beside these files. Returns the model's prompt, the file and the events. */
async function exported(name: string, others: readonly object[]) {
  const steps = [
    [toolCall("export_variable", { name, file: "file:a.json" }), finish("tool-calls")],
    [text("Done."), finish()],
  ];
  const options = planning({}, { steps });
  return withRuntime(options, async (own) => {
    await own.call("PUT", "/conversations/c/variables/rows", json([1, 2]));
    await own.call("PUT", "/conversations/c/variables/key?visibility=sealed", json("k3y"));
    const listing = vi.spyOn(env.BLOBS, "list") as unknown as {
      mockResolvedValue(page: unknown): void;
      mockRestore(): void;
    };
    listing.mockResolvedValue({ objects: others, truncated: false });
    await (await own.call("POST", "/conversations/c/messages", json({ message: "Go" }))).text();
    listing.mockRestore();
    const { calls } = options.model as ScriptedModel;
    const tool = calls[1]?.prompt.findLast(({ role }) => role === "tool");
    const object = await env.BLOBS.get(`${own.state.id}/files/a.json`);
    const read = JSON.stringify(tool?.content);
    return { read, file: await object?.text(), events: await eventsOf(own) };
  });
}

async function eventsOf(own: OwnRuntime) {
  const response = await own.call("GET", "/conversations/c/events", {
    headers: { accept: "application/json" },
  });
  const { events } = await response.json<{ events: { type: string; file?: object }[] }>();
  return events.flatMap(({ type, file }) => (file === undefined ? [] : [[type, file]]));
}

describe("a file that a turn writes", () => {
  it("is among the events", async () => {
    const { file, events } = await exported("rows", []);
    expect(file).toBe("[1,2]");
    expect(events).toEqual([["file.saved", { path: "a.json", bytes: 5 }]]);
  });

  it("is refused if it exceeds the total size, or the number of files", async () => {
    for (const others of [
      [other(limits.maxFilesBytes - 4, "model")],
      Array.from({ length: limits.maxFiles }, () => other(1, "model")),
    ]) {
      const { read, file, events } = await exported("rows", others);
      expect(read).toContain("limit_exceeded");
      expect([file, events]).toEqual([undefined, []]);
    }
    expect((await exported("rows", [other(limits.maxFilesBytes - 5, "model")])).file).toBe("[1,2]");
  });

  it("shows no sizes of guarded files to the model", async () => {
    const full = await exported("key", [other(limits.maxFilesBytes, "model")]);
    const beside = await exported("rows", [other(limits.maxFilesBytes - 1, "sealed")]);
    for (const { read, file } of [full, beside]) {
      expect(file).toBeUndefined();
      expect(read).toContain("limit_exceeded");
      expect(read).not.toContain(String(limits.maxFilesBytes).slice(0, 3));
    }
  });

  it("is among the events of a template's run, too", async () => {
    const steps = [[text("alpha"), finish()]];
    await withRuntime(planning({}, { steps }), async (own) => {
      const init = {
        body: "@output file:notes/a.md\n@write-mode replace\nA.",
        headers: { "content-type": "text/markdown" },
      };
      await (await own.call("POST", "/conversations/c/plans?run=true", init)).text();
      expect(await eventsOf(own)).toEqual([["file.saved", { path: "notes/a.md", bytes: 5 }]]);
    });
  });
});
