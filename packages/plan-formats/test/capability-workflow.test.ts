import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunRecord } from "../../plans/src/plan/plan-record.ts";
import type { Json } from "../../../src/value/json.ts";
import { Workflows } from "../../../test/support/workflows.ts";

const echo = (input: Readonly<Record<string, string>>) => input["content"] ?? "";
const statusesOf = ({ calls }: RunRecord) => Object.values(calls).map(({ status }) => status);

describe("the seed's own workflow", () => {
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

  it("gives each tool the text with the values in it", async () => {
    const conversation = workflows();
    const record = await conversation.run(summary);
    expect(conversation.called).toEqual([
      ["memory_recall", { query: "professional experience" }],
      ["memory_recall", { query: "skills" }],
      ["web_generate", { content: prompt }],
      ["filesystem_write", { path: "/tmp/summary.md", content: `# ${prompt}` }],
    ]);
    expect(record.status).toBe("done");
    expect(Object.values(record.calls).map(({ places }) => places)).toEqual([
      ["variable:experience"],
      ["variable:skills"],
      ["variable:prompt"],
      ["variable:summary"],
      [],
    ]);
    expect(await conversation.ownOf(record)).toEqual({
      experience: memory["professional experience"],
      skills: "listening",
      prompt,
      summary: `# ${prompt}`,
      filesystem_write_tmp_summary_md: { written: true },
    });
  });

  it("can run several times concurrently, and leaves no variables behind", async () => {
    const conversation = workflows();
    const records = await Promise.all([1, 2, 3].map(() => conversation.run(summary)));
    for (const record of records) {
      expect(await conversation.ownOf(record)).toMatchObject({ summary: `# ${prompt}` });
      conversation.store.endRun(record.id);
    }
    expect(conversation.store.list()).toEqual([]);
  });
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

  it("reads the conversation's variables, except under names that it writes itself", async () => {
    const { store, run, called } = new Workflows({ echo });
    await store.save({ name: "there", value: { a: [1] } });
    await store.save({ name: "written", value: "before" });
    await run(`
      <capability name="echo">{{there}}</capability>
      <capability name="echo">{{there.a[0]}} {{written}}</capability>
      <capability name="echo" output_var="written">now</capability>
      <capability name="echo">{{written}}</capability>`);
    expect(called.map(([, input]) => input)).toEqual([
      { content: { a: [1] } },
      { content: "1 {{written}}" },
      { content: "now" },
      { content: "now" },
    ]);
  });

  it("leaves references to missing variables as text", async () => {
    const { run, called } = new Workflows({ echo });
    const { status } = await run(`
      <capability name="echo">{{nobody}}</capability>
      <capability name="echo" to="{{nobody}}">Hi {{ nobody.at[0] }}, {{later}}</capability>
      <capability name="echo" output_var="later">1</capability>`);
    expect(called.map(([, input]) => input)).toEqual([
      { content: "{{nobody}}" },
      { to: "{{nobody}}", content: "Hi {{ nobody.at[0] }}, {{later}}" },
      { content: "1" },
    ]);
    expect(status).toBe("done");
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

  it("continues if one of a name's writers has written it, or writes it later", async () => {
    const failing = () => {
      throw new Error("boom");
    };
    const { run, called } = new Workflows({ echo, failing });
    const record = await run(`
      <capability name="echo">{{k}}</capability>
      <capability name="variable" action="set" key="k" value="set" />
      <capability name="failing" output_var="k" />
      <capability name="echo">{{k}}</capability>
      <capability name="variable" action="set" key="other" value="{{gone}}" />
      <capability name="failing" output_var="gone" />
      <capability name="variable" action="set" key="last" value="{{gone}}" />
      <capability name="echo">{{last}}</capability>`);
    expect(called.filter(([name]) => name === "echo").map(([, input]) => input)).toEqual([
      { content: "{{k}}" },
      { content: "set" },
    ]);
    expect(statusesOf(record)).toEqual(
      "done done failed done done failed skipped skipped".split(" "),
    );
  });

  it("fails a call that references a missing part of an existing value", async () => {
    const { run, called } = new Workflows({ echo });
    const record = await run(`
      <capability name="variable" action="set" key="a" value="text" />
      <capability name="echo">{{a.b}}</capability>
      <capability name="echo">{{a}}</capability>`);
    expect(statusesOf(record)).toEqual(["done", "failed", "done"]);
    expect(record.calls["call_2"]?.reason).toMatch(/^path_not_found: /);
    expect(called).toEqual([["echo", { content: "text" }]]);
  });

  it("passes on entities and CDATA as the text they stand for", async () => {
    const { run, called } = new Workflows({ echo });
    await run(`
      <capability name="echo" output_var="a" with="&lt;&quot;&amp;&#10;'>"><![CDATA[<b>{{x}} & {{a}}</b>]]></capability>
      <capability name="echo">&lt;i&gt;{{a}}&#x1F600; &amp;amp; &#123;{a}}</capability>`);
    const a = "<b>{{x}} & {{a}}</b>";
    expect(called.map(([, input]) => input)).toEqual([
      { with: "<\"&\n'>", content: a },
      { content: `<i>${a}\u{1F600} &amp; ${a}` },
    ]);
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

  it("replaces the previous value of a name", async () => {
    const { run, called, ownOf } = new Workflows({ echo });
    const record = await run(`
      <capability name="echo" output_var="a">1</capability>
      <capability name="echo" output_var="a">{{a}}2</capability>
      <capability name="variable" action="set" key="a" value="{{a}}3" />
      <capability name="echo" output_var="b">{{a}}</capability>`);
    expect(called.at(-1)).toEqual(["echo", { content: "123" }]);
    expect(await ownOf(record)).toEqual({ a: "123", b: "123" });
  });

  it("clears only its own variables", async () => {
    const { store, run, ownOf } = new Workflows({ echo });
    await store.save({ name: "outside", value: 1 });
    const record = await run(`
      <capability name="echo" output_var="a">1</capability>
      <capability name="echo" output_var="b">2</capability>
      <capability name="variable" action="clear" key="a" />
      <capability name="variable" action="clear" key="outside" />
      <capability name="variable" action="interpolate" output_var="seen">{{a}}{{b}}{{outside}}</capability>
      <capability name="variable" action="clear_all" />
      <capability name="variable" action="interpolate" output_var="seen_2">{{seen}}{{b}}{{outside}}</capability>`);
    expect(statusesOf(record)).not.toContain("failed");
    expect(await ownOf(record)).toEqual({ seen_2: "{{seen}}{{b}}1" });
    expect(await store.read("outside")).toBe(1);
  });

  it("stops when it is cancelled", async () => {
    const controller = new AbortController();
    const { run, called } = new Workflows({
      echo: () => {
        controller.abort();
        return 1;
      },
    });
    const two = `<capability name="echo">1</capability><capability name="echo">2</capability>`;
    expect((await run(two, controller.signal)).status).toBe("cancelled");
    expect(called).toHaveLength(1);
  });
});
