import { type Tool, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import capability from "../../../cases/workflows/capability.json" with { type: "json" };
import summary from "../../../cases/workflows/summary.xml?raw";
import type { OwnRuntime } from "../../../support/own-runtime.ts";
import {
  approve,
  carryOutText,
  offerXml,
  putValue,
  refused,
  runPlan,
  taken,
  withPlanner,
  valueOf,
} from "../../../support/plan-requests.ts";

interface CapabilityCall {
  readonly session: string;
  readonly action: string;
  readonly key?: string;
  readonly value?: unknown;
  readonly content?: string;
  readonly reply?: unknown;
  readonly names?: readonly string[];
}

const text = z.string().optional();

/** Tools of the seed's example; what they got is noted, with their names. */
function capabilityTools(seen: unknown[]) {
  const noting = (name: string, answer: (input: Readonly<Record<string, unknown>>) => unknown) =>
    tool({
      inputSchema: z.looseObject({}),
      execute: (input): unknown => {
        seen.push([name, input]);
        return answer(input);
      },
    });
  return {
    memory_recall: noting("memory_recall", ({ query }) => `<${String(query)}>`),
    web_generate: noting("web_generate", ({ content }) => `Made of ${String(content)}`),
    filesystem_write: noting("filesystem_write", () => "written"),
    note: noting("note", ({ content }) => content),
    give: tool({
      inputSchema: z.object({ json: z.string() }),
      execute: ({ json }): unknown => JSON.parse(json),
    }),
  };
}

/** Runs a workflow; what `note` got as `content`, in order. */
async function noted(xml: string, before: (own: OwnRuntime) => Promise<void> = async () => {}) {
  const seen: unknown[] = [];
  return withPlanner({ tools: capabilityTools(seen), seen }, async ({ own }) => {
    await before(own);
    const { run } = await carryOutText(own, offerXml(own, xml));
    const contents = (seen as readonly [string, Record<string, unknown>][])
      .filter(([name]) => name === "note")
      .map(([, input]) => input["content"]);
    return { run, contents, seen };
  });
}

const set = (key: string, value: string) =>
  `<capability name="variable" action="set" key="${key}" value="${value}" />`;
const note = (content: string) => `<capability name="note">${content}</capability>`;
const read = (key: string, into = "got") =>
  `<capability name="variable" action="get" key="${key}" output_var="${into}" />`;

describe("the seed's example", () => {
  it("runs, with each result where it belongs", async () => {
    const seen: unknown[] = [];
    await withPlanner({ tools: capabilityTools(seen), seen }, async ({ own }) => {
      const plan = await taken(offerXml(own, summary));
      expect(plan.calls).toHaveLength(5);
      expect(seen).toEqual([]);
      await approve(own, plan.id);
      const { run } = await runPlan(own, plan.id);
      expect(run.calls.map(({ status }) => status)).toEqual(Array(5).fill("done"));
      const [first, second, web, write] = seen as readonly [string, { content: string }][];
      expect(first).toMatchObject(["memory_recall", { query: "professional experience" }]);
      expect(second).toMatchObject(["memory_recall", { query: "skills" }]);
      expect(web?.[0]).toBe("web_generate");
      expect(web?.[1].content).toContain("Experience: <professional experience>");
      expect(web?.[1].content).toContain("Skills: <skills>");
      expect(write).toMatchObject(["filesystem_write", { path: "/tmp/summary.md" }]);
      expect(write?.[1].content).toBe(`Made of ${web?.[1].content}`);
      for (const name of ["experience", "skills", "prompt", "summary"]) {
        expect(await valueOf(own, name)).toBe(404);
      }
    });
  });
});

/** The case's calls as a workflow of one session. */
function written(calls: readonly CapabilityCall[]): string {
  return calls
    .map(({ action, key, value, content, reply, names }, at) => {
      const about = `name="variable" action="${action}"${key === undefined ? "" : ` key="${key}"`}`;
      const into = reply === undefined && names === undefined ? "" : ` output_var="reply_${at}"`;
      const asked = into === "" ? "" : note(`{{reply_${at}}}`);
      if (content !== undefined)
        return `<capability ${about}${into}>${content}</capability>${asked}`;
      if (action !== "set") return `<capability ${about}${into} />${asked}`;
      const json = JSON.stringify(value).replaceAll('"', "&quot;");
      const given = `<capability name="give" json="${json}" output_var="given_${at}" />`;
      return `${given}<capability ${about} value="{{given_${at}}}" />`;
    })
    .join("\n");
}

describe("capability.json over HTTP", () => {
  it.each(capability.cases as readonly { name: string; calls: readonly CapabilityCall[] }[])(
    "$name",
    async ({ calls }) => {
      for (const session of new Set(calls.map((call) => call.session))) {
        const own = calls.filter((call) => call.session === session);
        const { contents } = await noted(written(own));
        const asked = own.filter(({ reply, names }) => reply !== undefined || names !== undefined);
        expect(contents).toHaveLength(asked.length);
        for (const [at, { reply, names }] of asked.entries()) {
          if (names === undefined) expect(contents[at]).toEqual(reply);
          else {
            const listed = JSON.stringify(contents[at]);
            for (const name of ["a", "b"]) {
              expect(listed.includes(`"${name}"`), listed).toBe(names.includes(name));
            }
          }
        }
      }
    },
  );
});

describe("tools and parameters", () => {
  it("the tool is name_action before name; attributes and body are parameters", () => {
    const seen: unknown[] = [];
    const noting = (name: string): Tool =>
      tool({
        inputSchema: z.looseObject({ to: text, content: text }),
        execute: (input): unknown => seen.push([name, input]),
      });
    const tools = { mail: noting("mail"), mail_send: noting("mail_send") };
    return withPlanner({ tools }, async ({ own }) => {
      await carryOutText(
        own,
        offerXml(
          own,
          '<capability name="mail" action="send" to="a">Hi</capability>' +
            '<capability name="mail" action="draft" to="b">Ho</capability>',
        ),
      );
      expect(seen).toMatchObject([
        ["mail_send", { to: "a", content: "Hi" }],
        ["mail", { to: "b", content: "Ho" }],
      ]);
    });
  });

  it("an unknown tool is a finding", () =>
    withPlanner({}, async ({ own }) => {
      const findings = await refused(offerXml(own, '<capability name="nope" action="x" />'));
      expect(findings).toMatchObject([{ code: "unknown_tool" }]);
    }));

  it("a whole reference keeps its type", async () => {
    const { contents } = await noted(
      `<capability name="give" json="[1,{&quot;a&quot;:null}]" output_var="list" />${note("{{list}}")}${note("{{ list[0] }}")}`,
    );
    expect(contents).toEqual([[1, { a: null }], 1]);
  });

  it("an unknown name stays as it is, a missing key says so, and the plan goes on", async () => {
    const { run, contents } = await noted(
      `${read("nobody")}${note("{{got}}")}${note("Hi {{who}}!")}`,
    );
    expect(contents).toEqual(["Variable not found: nobody", "Hi {{who}}!"]);
    expect(run.status).toBe("done");
  });

  it("they run in the written order, one after the other", async () => {
    const log: string[] = [];
    const step: Tool = tool({
      inputSchema: z.object({ n: z.string() }),
      execute: async ({ n }) => {
        log.push(`${n} begins`);
        await new Promise((resolve) => setTimeout(resolve, n === "1" ? 30 : 1));
        log.push(`${n} ends`);
      },
    });
    await withPlanner({ tools: { step } }, async ({ own }) => {
      const xml = [1, 2, 3].map((n) => `<capability name="step" n="${n}" />`).join("");
      await carryOutText(own, offerXml(own, xml));
    });
    expect(log).toEqual([1, 2, 3].flatMap((n) => [`${n} begins`, `${n} ends`]));
  });

  it("a name may be written twice: what was written last is read", async () => {
    const { contents } = await noted(
      set("k", "one") + note("{{k}}") + set("k", "two") + note("{{k}}"),
    );
    expect(contents).toEqual(["one", "two"]);
  });
});

describe("scope", () => {
  it("what a workflow sets ends with it", () =>
    withPlanner({ tools: capabilityTools([]) }, async ({ own }) => {
      await carryOutText(own, offerXml(own, set("data", "x")));
      expect(await valueOf(own, "data")).toBe(404);
      const seen: unknown[] = [];
      await carryOutText(own, offerXml(own, read("data") + note("{{got}}")));
      expect(seen).toEqual([]);
      expect(await valueOf(own, "got")).toBe(404);
    }));

  it("a second run of the same workflow does not see the first's", async () => {
    const seen: unknown[] = [];
    await withPlanner({ tools: capabilityTools(seen), seen }, async ({ own }) => {
      const { id } = await taken(offerXml(own, read("k") + note("{{got}}") + set("k", "v")));
      await approve(own, id);
      await runPlan(own, id);
      await runPlan(own, id);
      const missing = ["note", { content: "Variable not found: k" }];
      expect(seen).toEqual([missing, missing]);
    });
  });

  it("nothing of a workflow stays, named or not", () =>
    withPlanner({ tools: capabilityTools([]) }, async ({ own }) => {
      const xml =
        set("k", "v") + note("{{k}}") + read("k") + '<capability name="variable" action="list" />';
      await carryOutText(own, offerXml(own, xml));
      const response = await own.call("GET", "/conversations/c/variables");
      const { variables } = await response.json<{ variables: { name: string }[] }>();
      expect(variables.map(({ name }) => name)).toEqual([]);
    }));

  it("names may be as long as names are", async () => {
    const long = "n".repeat(64);
    const { contents, run } = await noted(
      set(long, "v") + read(long, "m".repeat(64)) + note(`{{${"m".repeat(64)}}}`),
    );
    expect(run.status, JSON.stringify(run)).toBe("done");
    expect(contents).toEqual(["v"]);
  });

  it("what the workflow sets hides the conversation's, and does not touch it", async () => {
    await withPlanner({ tools: capabilityTools([]) }, async ({ own }) => {
      await putValue(own, "k", "outer");
      await carryOutText(own, offerXml(own, set("k", "inner")));
      expect(await valueOf(own, "k")).toBe("outer");
    });
    const xml = set("k", "inner") + note("{{k}}");
    const { contents } = await noted(xml, (own) => putValue(own, "k", "outer"));
    expect(contents).toEqual(["inner"]);
  });

  it('scope="conversation" keeps what is set, and what output_var names', () =>
    withPlanner({ tools: capabilityTools([]) }, async ({ own }) => {
      await carryOutText(
        own,
        offerXml(
          own,
          '<capability name="variable" action="set" key="kept" value="v" scope="conversation" />' +
            '<capability name="memory" action="recall" query="q" output_var="out" scope="conversation" />',
        ),
      );
      expect(await valueOf(own, "kept")).toBe("v");
      expect(await valueOf(own, "out")).toBe("<q>");
    }));

  it("scope is not handed to the tool", async () => {
    const xml =
      '<capability name="memory" action="recall" query="q" output_var="o" scope="conversation" />';
    const { seen } = await noted(xml);
    const [[, input]] = seen as [[string, object]];
    expect(input).not.toHaveProperty("scope");
    expect(input).not.toHaveProperty("output_var");
  });

  it("clear and clear_all leave the conversation's variables", () =>
    withPlanner({ tools: capabilityTools([]) }, async ({ own }) => {
      await putValue(own, "mine", 1);
      const all = '<capability name="variable" action="clear_all" />';
      const clear = '<capability name="variable" action="clear" key="gone" />';
      await carryOutText(own, offerXml(own, set("a", "1") + clear + all));
      expect(await valueOf(own, "mine")).toBe(1);
    }));
});

describe("XML", () => {
  it.each<readonly [string, string, unknown]>([
    ["entities", note("a &amp; b &lt;c&gt; &quot;&apos; &#65;&#x42;"), "a & b <c> \"' AB"],
    ["CDATA", note("<![CDATA[<b>&amp;</b> ]]>"), "<b>&amp;</b> "],
    [
      "entities in attributes",
      `<capability name="note" content="&lt;a&gt; &amp;&#x41;"/>`,
      "<a> &A",
    ],
    ["single quotes", `<capability name='note' content='say "hi" > all' />`, 'say "hi" > all'],
    ["attributes on lines of their own", `<capability\n  name="note"\n  content="x"\n/>`, "x"],
    ["comments", `<!-- <capability name="nope"> -->${note("x")}`, "x"],
    ["other alphabets", note("Grüße 😀"), "Grüße 😀"],
    ["what entities make is no reference's opening twice", note("&amp;amp;"), "&amp;"],
  ])("%s", async (_, xml, content) => {
    expect((await noted(xml)).contents).toEqual([content]);
  });

  it.each([
    ["no end of the tag", '\n\n<capability name="note"', 3],
    [
      "no end of the quotes",
      '<capability name="note" />\n<capability name="note content="x" />',
      2,
    ],
    ["no closing tag", '<capability name="note">\nbody', undefined],
    ["another closing tag", '<capability name="note">\nbody</capabilities>', undefined],
    ["an attribute twice", '\n<capability name="note" content="a" content="b" />', 2],
    ["an unknown entity", '\n<capability name="note" content="&nope;" />', 2],
    ["a bare &", '\n\n<capability name="note">a & b</capability>', 3],
    ["< in an attribute", '<capability name="note" content="a < b" />', 1],
    ["a closing tag without a beginning", "\n</capability>", 2],
    ["no name", '\n<capability action="x" />', undefined],
  ])("a broken tag, %s, is an error with line and column", (_, xml, line) =>
    withPlanner({ tools: capabilityTools([]) }, async ({ own }) => {
      const findings = await refused(offerXml(own, xml));
      expect(findings[0]).toMatchObject({
        code: "bad_xml",
        line: line ?? expect.any(Number),
        column: expect.any(Number),
      });
      expect(findings[0]?.column).toBeGreaterThan(0);
    }),
  );
});
