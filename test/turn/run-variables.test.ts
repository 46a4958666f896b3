import { describe, expect, it } from "vitest";
import { VariableList } from "../../src/turn/history/variable-list.ts";
import * as limits from "../../src/limits.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { Taint } from "../../src/store/labels.ts";
import { finish, text } from "../../packages/testing/src/testing.ts";
import { Conversation, shownText } from "../support/turn.ts";

function listOf(store: MemoryStore): readonly string[] {
  return new VariableList({ store, taint: new Taint(), hidesUntrusted: false }).next([]).lines;
}

describe("variables of a plan's run", () => {
  it("are not resolved in answers", async () => {
    const chat = new Conversation({});
    await chat.store.save({ name: "input_r1", value: { to: "alice" }, run: "r1" });
    const turn = await chat.say({ steps: [[text("It is $input_r1.to."), finish()]] });
    expect(shownText(turn.chunks)).toBe("It is $input_r1.to.");
  });

  it("are counted neither as listed variables nor as older ones", async () => {
    const store = new MemoryStore();
    const count = limits.maxListedVariables + 3;
    for (let n = 0; n < count; n++) {
      await store.save({ name: `own_${n}`, value: n });
      await store.save({ name: `run_${n}`, value: n, run: "r1" });
    }
    const list = listOf(store);
    expect(list.slice(0, 2)).toEqual(["(3 older variables are not listed)", "$own_3: number"]);
    expect(list.join("\n")).not.toContain("$run_");
    store.endRun("r1");
    expect(listOf(store)).toEqual(list);
  });
});
