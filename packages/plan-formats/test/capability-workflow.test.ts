import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunRecord } from "../../plans/src/plan/plan-record.ts";
import type { Json } from "../../../src/value/json.ts";
import { Workflows } from "../../../test/support/workflows.ts";

const echo = (input: Readonly<Record<string, string>>) => input["content"] ?? "";
const statusesOf = ({ calls }: RunRecord) => Object.values(calls).map(({ status }) => status);

const file = join(import.meta.dirname, "../../../test/cases/workflows/summary.xml");
const summary = readFileSync(file, "utf8");
const memory: Readonly<Record<string, Json>> = {
  "professional experience": ["Coach", { at: "Artie & Co" }],
  skills: "listening",
};
const workflows = () =>
  new Workflows({
    memory_recall: ({ query = "" }) => memory[query] ?? null,
    web_generate: ({ content }) => `# ${content}`,
    filesystem_write: () => ({ written: true }),
  });
const prompt =
  "Create a professional summary combining:\n" +
  'Experience: ["Coach",{"at":"Artie & Co"}]\nSkills: listening';

it("the seed's own workflow can run several times concurrently, and leaves no variables behind", async () => {
  const conversation = workflows();
  const records = await Promise.all([1, 2, 3].map(() => conversation.run(summary)));
  for (const record of records) {
    expect(await conversation.ownOf(record)).toMatchObject({ summary: `# ${prompt}` });
    conversation.store.endRun(record.id);
  }
  expect(conversation.store.list()).toEqual([]);
});

describe("a workflow", () => {
  it("stores variables in the conversation if their scope says so, otherwise in its run", async () => {
    const { store, run, ownOf } = new Workflows({ echo });
    await store.save({ name: "note", value: "the conversation's" });
    const record = await run(`
      <capability name="echo" output_var="kept" scope="conversation">1</capability>
      <capability name="variable" action="set" key="set" value="{{kept}}!" scope="conversation" />
      <capability name="variable" action="set" key="note" value="the run's" />
      <capability name="variable" action="interpolate" output_var="all">{{kept}} {{set}} {{note}}</capability>
      <capability name="variable" action="list" output_var="names" />`);
    expect(record.status).toBe("done");
    expect(await ownOf(record)).toEqual({
      note: "the run's",
      all: "1 1! the run's",
      names: ["note", "all"],
    });
    store.endRun(record.id);
    expect([await store.read("kept"), await store.read("set"), await store.read("note")]).toEqual([
      "1",
      "1!",
      "the conversation's",
    ]);
  });

  it("continues after a missing key, and can use the message about it", async () => {
    const { run, called } = new Workflows({ echo });
    const record = await run(`
      <capability name="variable" action="get" key="nobody" />
      <capability name="variable" action="get" key="nobody" output_var="found" />
      <capability name="variable" action="clear" key="nobody" />
      <capability name="echo">{{found}}</capability>`);
    expect(called).toEqual([["echo", { content: "Variable not found: nobody" }]]);
    expect(statusesOf(record)).toEqual(["done", "done", "done", "done"]);
  });

  it("skips direct and indirect readers of a failed call's output; the rest runs", async () => {
    const failing = () => {
      throw new Error("boom");
    };
    const { run, called } = new Workflows({ echo, failing });
    const record = await run(`
      <capability name="echo" output_var="a">1</capability>
      <capability name="failing" output_var="b">{{a}}</capability>
      <capability name="echo" output_var="c">{{a}} {{b}}</capability>
      <capability name="variable" action="interpolate" output_var="d">{{nobody}} {{c.deep}}</capability>
      <capability name="echo">{{nobody}} {{a}}</capability>`);
    expect(called.map(([, input]) => input)).toEqual([
      { content: "1" },
      { content: "1" },
      { content: "{{nobody}} 1" },
    ]);
    expect(statusesOf(record)).toEqual(["done", "failed", "skipped", "skipped", "done"]);
    expect(record.calls["call_2"]?.reason).toBe("tool_failed: boom");
    expect(record.calls["call_3"]?.reason).toBe("{{b}} is not there: call_2 failed.");
    expect(record.calls["call_4"]?.reason).toBe("{{c.deep}} is not there: call_3 was skipped.");
    expect(record.status).toBe("failed");
  });

  it("does not read references or tags in values", async () => {
    const looks = '{{b}} $b †b <capability name="echo" />]]>&lt;';
    const { run, called } = new Workflows({ echo, give: () => looks });
    await run(`
      <capability name="echo" output_var="b">secret</capability>
      <capability name="give" output_var="a" />
      <capability name="variable" action="interpolate" output_var="c">{{a}}</capability>
      <capability name="echo">{{a}}|{{c}}</capability>`);
    expect(called.at(-1)).toEqual(["echo", { content: `${looks}|${looks}` }]);
  });
});
