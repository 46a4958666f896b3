import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { Visibility } from "../../src/store/variable.ts";
import { runtimeTool } from "../../src/tool/runtime-tool.ts";
import { saveTargetIn } from "../../src/tool/save-target.ts";
import { Taint } from "../../src/store/labels.ts";
import { wrapRuntimeTool } from "../../src/tool/tool-call.ts";
import { callTool, conversation, give, outputOf, scope } from "../support/runtime-tool-calls.ts";
import { call, failureOf, run } from "../support/wrapped.ts";

describe("the result of a runtime tool", () => {
  it("is saved nowhere if one of the places does not fit", async () => {
    const store = new MemoryStore();
    await store.save({ name: "text", value: "a text" });
    const saving = callTool(give, { value: 1 }, { store, saveTo: "$a && $text.b" });
    await expect(saving).rejects.toMatchObject({ code: "bad_value" });
    expect(store.glance("a")).toBeUndefined();
  });

  it("ends with the run if the place belongs to it", async () => {
    const store = await conversation();
    const [place] = saveTargetIn("$mine").places;
    if (place === undefined) throw new Error("There is a place.");
    const saveTo = { operator: "all", places: [{ ...place, name: "mine_r1", run: "r1" }] } as const;
    const wrapped = await wrapRuntimeTool(give, { store });
    const ran = await run(wrapped, { value: "$state.x" }, { ...call, scope, saveTo });
    if (ran.kind === "done") await ran.save();
    expect([await store.read("mine_r1"), store.info("mine_r1")?.scope]).toEqual([
      "the run's",
      "run",
    ]);
  });

  it.each([
    ["sealed", false],
    ["model", false],
    ["model", true],
  ] as const)("inherits the labels of its sources: %s, trusted %s", async (visibility, trusted) => {
    const store = new MemoryStore();
    await store.save({ name: "source", value: "v", visibility, trusted, sources: ["mail"] });
    await callTool(give, { value: "$source" }, { store, saveTo: "$copy" });
    const labels = {
      visibility: visibility as Visibility,
      trusted,
      sources: ["tool:give", "mail"],
    };
    expect(store.info("copy")).toMatchObject(labels);
  });

  it("is untrusted if a variable that the tool names was untrusted at the beginning or at the end", async () => {
    for (const [before, after] of [
      [true, false],
      [false, true],
    ]) {
      const store = new MemoryStore();
      await store.save({ name: "source", value: "first", trusted: before === true });
      const slow = runtimeTool({
        ...give,
        name: "slow",
        inputSchema: z.object({ name: z.string() }),
        execute: async () => {
          await store.save({ name: "source", value: "second", trusted: after === true });
          return { output: 1 };
        },
      });
      await callTool(slow, { name: "source" }, { store, saveTo: "$copy" });
      expect(store.info("copy")?.trusted).toBe(false);
    }
  });

  it("is untrusted if the tool says so, or if anything that it read was untrusted, even for a while", async () => {
    const store = new MemoryStore();
    await store.save({ name: "mail", value: "x", trusted: false });
    const says = runtimeTool({ ...give, execute: () => ({ output: 1, untrusted: true }) });
    await callTool(says, { value: 1 }, { store, saveTo: "$says" });
    const reads = runtimeTool({
      ...give,
      execute: (_, { labels }) => {
        labels.add("mail");
        return { output: 1 };
      },
    });
    await callTool(reads, { value: 1 }, { store, saveTo: "$reads" });
    await store.save({ name: "a", value: 1 });
    const meanwhile = runtimeTool({
      ...give,
      execute: async () => {
        await store.save({ name: "a", value: 3, trusted: true, sources: ["caller"] });
        return { output: 1 };
      },
    });
    const ready = await (
      await wrapRuntimeTool(meanwhile, { store })
    ).prepare({ value: "$a" }, { ...call, saveTo: saveTargetIn("$meanwhile") });
    await store.save({ name: "a", value: 2, trusted: false });
    const ran = ready.kind === "ready" ? await ready.run() : ready;
    if (ran.kind === "done") await ran.save();
    const trusted = ["says", "reads", "meanwhile"].map((name) => store.info(name)?.trusted);
    expect(trusted).toEqual([false, false, false]);
  });

  it("is shown like any result, and taints the turn", async () => {
    const store = new MemoryStore();
    await store.save({ name: "mail", value: "Do as I say.", trusted: false });
    const taint = new Taint();
    const read = { name: "mail" };
    const output = await outputOf("read_variable", read, { store, taint, saveTo: "$copy" });
    expect(output).toMatchObject({ $var: "copy", untrusted: true });
    expect([taint.isTainted, store.info("copy")?.trusted]).toEqual([true, false]);
  });

  it("is not saved if the call names no place, or if there is no result", async () => {
    const store = new MemoryStore();
    expect((await callTool(give, { value: 1 }, { store })).saved).toEqual({ output: 1 });
    const none = runtimeTool({ ...give, execute: () => ({ output: "No.", isNothing: true }) });
    const { saved } = await callTool(none, { value: 1 }, { store, saveTo: "$a" });
    expect([saved, store.count()]).toEqual([{ output: "No.", places: [] }, 0]);
  });

  it("does not replace a secret, and errors reveal nothing of a sealed value", async () => {
    const store = new MemoryStore();
    await store.save({ name: "key", value: "s3cr3t", visibility: "secret" });
    await store.save({ name: "seal", value: "s3al3d", visibility: "sealed" });
    const { ran } = await callTool(give, { value: 1 }, { store, saveTo: "$key" });
    expect(failureOf(ran)?.code).toBe("variable_secret");
    const { ran: inside } = await callTool(give, { value: 1 }, { store, saveTo: "$seal.a" });
    expect(failureOf(inside)?.code).toBe("variable_sealed");
  });
});
