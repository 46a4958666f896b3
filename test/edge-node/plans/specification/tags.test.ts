import { capabilityTags } from "../../../../src/plan/capability/capability-model.ts";
import { type Tool, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { finish, text } from "../../../support/scripted-model.ts";
import { promptIn, turnOf, withPlanner } from "../../../support/plan-requests.ts";
import { textIn } from "../../../support/turn-client.ts";

const TAG = '<capability name="get_weather" location="a &lt; b" />';
const ANSWER = `Let me see: ${TAG} So.`;
const agent = { toolCalls: capabilityTags };

/** One turn in which the model answers so first, and then says that it is done. */
async function answering(answer: string, chunks: number | readonly string[] = [answer]) {
  const given: unknown[] = [];
  const get_weather: Tool = tool({
    inputSchema: z.object({ location: z.string() }),
    execute: (input) => {
      given.push(input);
      return { temp: 7272 };
    },
  });
  const steps = [
    [text(answer, { chunks }), finish()],
    [text("Done."), finish()],
  ];
  return withPlanner({ agent, tools: { get_weather }, steps }, async ({ own, model }) => {
    const parts = await turnOf(own, "Weather?");
    return { given, shown: textIn(parts), parts, model };
  });
}

describe("tags in a model's text", () => {
  it("are calls: the tag does not reach the user, the result comes back as a message", async () => {
    const { given, shown, model } = await answering(ANSWER);
    expect(given).toEqual([{ location: "a < b" }]);
    expect(shown).not.toContain("capability");
    expect(shown).not.toContain("<");
    expect(shown).toContain("Let me see:");
    expect(shown).toContain("Done.");
    expect(model.calls).toHaveLength(2);
    expect(promptIn(model, 1)).toContain("7272");
    expect(model.calls[0]?.tools ?? []).toEqual([]);
  });

  it("are the same wherever they are cut", async () => {
    const whole = await answering(ANSWER);
    for (let at = 1; at < ANSWER.length; at += 3) {
      const { given, shown } = await answering(ANSWER, [ANSWER.slice(0, at), ANSWER.slice(at)]);
      expect([at, given, shown]).toEqual([at, whole.given, whole.shown]);
    }
    const { given, shown } = await answering(ANSWER, 1);
    expect([given, shown]).toEqual([whole.given, whole.shown]);
  });

  it.each([
    ["never closed", 'I: <capability name="get_weather" location="x"'],
    ["without a name", 'I: <capability location="x" /> and'],
    ["with an attribute broken", 'I: <capability name="get_weather" location=x /> and'],
    ["of another kind", "I: <b>bold</b> <capabilities /> 1 < 2"],
  ])("that are broken stay text: %s", async (_, answer) => {
    const { given, shown, model } = await answering(answer, 4);
    expect(given).toEqual([]);
    expect(shown).toBe(answer);
    expect(model.calls).toHaveLength(1);
  });

  it("may be several, with text between", async () => {
    const one = (location: string) => `<capability name="get_weather" location="${location}" />`;
    const { given, shown } = await answering(`A ${one("x")} B ${one("y")} C`, 5);
    expect(given).toEqual([{ location: "x" }, { location: "y" }]);
    expect(shown).not.toContain("<");
  });

  it("carry a body as content", async () => {
    const given: unknown[] = [];
    const note: Tool = tool({
      inputSchema: z.object({ content: z.string() }),
      execute: (input): unknown => given.push(input),
    });
    const answer = '<capability name="note"><![CDATA[<b>]]> &amp; more</capability>';
    const steps = [
      [text(answer, { chunks: 3 }), finish()],
      [text("Done."), finish()],
    ];
    await withPlanner({ agent, tools: { note }, steps }, async ({ own }) => {
      const shown = textIn(await turnOf(own, "Note."));
      expect(shown).toBe("Done.");
      expect(given).toEqual([{ content: "<b> & more" }]);
    });
  });

  it("are text for an agent that calls tools natively", () =>
    withPlanner({ steps: [[text(TAG), finish()]] }, async ({ own }) => {
      expect(textIn(await turnOf(own, "Hi."))).toBe(TAG);
    }));
});
