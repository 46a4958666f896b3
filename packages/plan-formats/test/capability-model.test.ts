import { capabilityTags } from "../src/capability/capability-model.ts";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../src/turn/agent.ts";
import { chunksOf as framesOf, Crashing, hang } from "../../../test/support/crashing.ts";
import { finish, reasoning, type Step, text, toolCall } from "../../testing/src/testing.ts";
import {
  agentWith,
  answerWith,
  done,
  given,
  inputOf,
  NYC,
  read,
  textIn,
  tools,
} from "../../../test/support/tagged-agent.ts";
import {
  chunksOf,
  Conversation,
  promptOf,
  readMessage,
  shownText,
  turnWith,
  typesOf,
} from "../../../test/support/turn.ts";
import { slow } from "../../../test/support/slow.ts";

describe("a tag in a model's text", () => {
  it("is a call, which a person sees like any other call", async () => {
    const turn = await answerWith(`Let me look.\n${NYC}\n`);
    expect(typesOf(turn.chunks.slice(0, 9))).toEqual([
      "start",
      "start-step",
      "text-start",
      "text-delta",
      "text-end",
      "tool-input-start",
      "tool-input-delta",
      "tool-input-available",
      "data-variable",
    ]);
    expect(chunksOf(turn.chunks, "tool-input-available")).toMatchObject([
      { toolName: "get_weather", input: { location: "NYC" } },
    ]);
    expect(shownText(turn.chunks)).toBe("Let me look.\nDone.");
    expect(JSON.stringify(turn.chunks)).not.toContain("<capability");
    expect(turn.store.info("get_weather_nyc")?.input).toEqual({ location: "NYC" });
    const { message, errors } = await readMessage(turn.chunks);
    expect(errors).toEqual([]);
    expect(message?.parts.map(({ type }) => type)).toEqual([
      "step-start",
      "text",
      "tool-get_weather",
      "step-start",
      "text",
    ]);
    expect(turn.result.finishReason).toBe("stop");
  });

  it("is the same wherever the stream splits it", slow, async () => {
    const answer = `Look: ${NYC} and <capability name="write_note" title="a">\n1 &lt; 2\n</capability>, so.`;
    const partsOf = async (chunks: number | readonly string[]) => {
      const { chunks: shown, result } = await answerWith(answer, chunks);
      const ids = chunksOf(shown, "text-start").map(({ id }) => id);
      expect(ids).toEqual(chunksOf(shown, "text-end").map(({ id }) => id));
      return { parts: result.message.parts, ids, given: [...given] };
    };
    const whole = await partsOf([answer]);
    expect(whole.given).toEqual([{ location: "NYC" }, { title: "a", content: "1 < 2" }]);
    expect(whole.ids).toEqual(["text_1", "text_1/2", "text_1/3", "text_1"]);
    for (let at = 1; at < answer.length; at++) {
      const cut = await partsOf([answer.slice(0, at), answer.slice(at)]);
      expect(cut, String(at)).toEqual(whole);
    }
    expect(await partsOf(1)).toEqual(whole);
  });

  it("stays text if it is broken, unfinished or in code", async () => {
    for (const answer of [
      '<capability name="get_weather" location=NYC />',
      '<capability name="get_weather" location="NYC"',
      '<capability location="NYC" />',
      "```xml\n" + NYC + "\n```",
      "`" + NYC + "`",
      "a < b <capabilities />",
      "   ",
    ]) {
      const { chunks, result, calls } = await answerWith(answer, 3);
      expect(shownText(chunks)).toBe(answer.trim() === "" ? "" : answer);
      expect([calls.length, result.finishReason]).toEqual([1, "stop"]);
    }
    expect(given).toEqual([]);
  });

  it("runs beside others of the same answer, whose results come back in one message", async () => {
    const turn = await answerWith(`${NYC}\n${NYC.replace("NYC", "Rome")}`);
    expect(given).toEqual([{ location: "NYC" }, { location: "Rome" }]);
    const ids = chunksOf(turn.chunks, "tool-input-available").map(({ toolCallId }) => toolCallId);
    expect(new Set(ids).size).toBe(2);
    const [, , said, results] = read(turn, 1);
    expect(said).toEqual(["assistant", `${NYC}\n${NYC.replace("NYC", "Rome")}`]);
    const shown = (name: string, location: string) =>
      JSON.stringify({ $var: name, value: { location, temp: 72 } });
    expect(results?.[0]).toBe("user");
    expect(results?.[1].split("\n").slice(0, 2)).toEqual([
      `<capability-result call="1" name="get_weather">${shown("get_weather_nyc", "NYC")}</capability-result>`,
      `<capability-result call="2" name="get_weather">${shown("get_weather_rome", "Rome")}</capability-result>`,
    ]);
  });

  it("does not run if the answer was cut off or filtered", async () => {
    given.length = 0;
    for (const reason of ["length", "content-filter"] as const) {
      const steps: Step[] = [[text(NYC), finish(reason)]];
      const { result } = await turnWith({ agent: agentWith(), steps });
      expect(result.finishReason).toBe(reason);
    }
    expect(given).toEqual([]);
  });

  it("fails like a call if its tool is unknown, and the model sees the error", async () => {
    const turn = await answerWith('<capability name="get" action="wether" to="Rome" />');
    expect(chunksOf(turn.chunks, "tool-input-error")).toMatchObject([{ toolName: "get_wether" }]);
    const error = "unknown_tool: There is no tool get_wether. Did you mean: get_weather.";
    expect(read(turn, 1).at(-1)?.[1].split("\n")[0]).toBe(
      `<capability-result call="1" name="get_wether" error="true">${error}</capability-result>`,
    );
  });
});

describe("the parameters of a tag", () => {
  it("get the types that the tool expects", async () => {
    const tag = '<capability name="get_weather" location="5" days="5" units="c" />';
    expect(await inputOf(tag)).toEqual({ location: "5", days: 5, units: "c" });
  });

  it("may contain references, with a dollar or in braces", async () => {
    const conversation = new Conversation({ agent: agentWith() });
    await conversation.store.save({ name: "city", value: "NYC" });
    await conversation.store.save({ name: "rows", value: [{ n: 1 }, { n: 2 }] });
    const answer =
      '<capability name="sum" rows="{{ rows }}" /> <capability name="sum" rows="$rows" />';
    const weather = '<capability name="get_weather" location="{{city}}, US" />';
    given.length = 0;
    const turn = await conversation.say({ steps: [[text(answer + weather), finish()], done] });
    expect(given).toEqual([{ location: "NYC, US" }]);
    const outputs = chunksOf(turn.chunks, "tool-output-available").map(({ output }) => output);
    expect(outputs).toMatchObject([{ value: 3 }, { value: 3 }, { value: { temp: 72 } }]);
    expect(turn.store.info("get_weather_nyc_us")?.input).toEqual({ location: "{{city}}, US" });
  });

  it("may be in the body, as content or as a JSON object", async () => {
    expect(
      await inputOf('<capability name="write_note" title="a"><![CDATA[<b>&</b>]]></capability>'),
    ).toEqual({ title: "a", content: "<b>&</b>" });
    const renamed = { name: "b", tags: ["x"] };
    expect(
      await inputOf(`<capability name="rename">${JSON.stringify(renamed)}</capability>`),
    ).toEqual(renamed);
    expect(
      await inputOf('<capability name="rename" tags="[&quot;x&quot;]">{"name":"b"}</capability>'),
    ).toEqual(renamed);
  });

  it("include the action if it is not part of the tool's name", async () => {
    const tag = '<capability name="memory" action="recall" query="skills" />';
    expect(await inputOf(tag)).toEqual({ action: "recall", query: "skills" });
    expect(await inputOf('<capability name="get" action="weather" location="NYC" />')).toEqual({
      location: "NYC",
    });
  });

  it("say where the result is saved", async () => {
    const { store } = await answerWith(NYC.replace(" />", ' output_var="here" />'));
    expect(await store.read("here")).toEqual({ location: "NYC", temp: 72 });
    expect(given).toEqual([{ location: "NYC" }]);
    const fixed = agentWith({ outputPath: { get_weather: "$fixed" } });
    const steps: Step[] = [[text(NYC), finish()], done];
    const turn = await turnWith({ agent: fixed, steps });
    expect(turn.store.list().map(({ name }) => name)).toEqual(["fixed"]);
  });
});

describe("the capability variable", () => {
  it("is available from the beginning, and its results can be saved", async () => {
    const conversation = new Conversation({ agent: agentWith() });
    const answer = [
      '<capability name="variable" action="set" key="skills" value="to code" />',
      '<capability name="variable" action="set" key="plan">Use {{skills}}.</capability>',
    ].join("\n");
    const next =
      '<capability name="variable" action="interpolate" output_var="prompt">Skills: {{skills}}</capability><capability name="variable" action="get" key="lost" />';
    const turn = await conversation.say({
      steps: [[text(answer), finish()], [text(next), finish()], done],
    });
    expect(await turn.store.read("prompt")).toBe("Skills: to code");
    expect(read(turn, 2).at(-1)?.[1]).toContain("Variable not found: lost");
    const wrong = next.replace("variable", "variable").replace('"prompt"', '"input"');
    const other = await conversation.say({ steps: [[text(wrong), finish()], done] });
    expect(shownText(other.chunks)).toContain('output_var="input"');
  });

  it("is not available to models with native calls, or if it is turned off", async () => {
    const names = async (agent: Agent) => {
      const steps: Step[] = [[text("Hello."), finish()]];
      const { calls } = await turnWith({ agent, steps });
      return JSON.stringify(calls[0]);
    };
    expect(await names(agentWith())).toContain("variable_set");
    expect(await names(agentWith({ variableTools: false }))).not.toContain("variable_set");
    expect(await names(agentWith({ toolCalls: "native" }))).not.toContain("variable_set");
  });
});

describe("parts other than a single text", () => {
  it("are passed on: reasoning with tags is unchanged", async () => {
    const steps: Step[] = [
      [reasoning(`I could ${NYC}`, { chunks: 7 }), text(NYC), finish()],
      [reasoning("So."), text("Done."), finish()],
    ];
    given.length = 0;
    const turn = await turnWith({ agent: agentWith(), steps });
    expect(given).toHaveLength(1);
    const { message } = await readMessage(turn.chunks);
    expect(message?.parts.filter(({ type }) => type === "reasoning")).toMatchObject([
      { text: `I could ${NYC}` },
      { text: "So." },
    ]);
    const said = promptOf(turn, 1).at(2);
    expect(said?.content).toMatchObject([
      { type: "reasoning", text: `I could ${NYC}` },
      { type: "text", text: NYC },
    ]);
  });

  it("are passed on: two texts, one of which does not end, with parts between them", async () => {
    const [start, delta] = text(`One ${NYC} more`, { id: "b" });
    const steps: Step[] = [
      [text("First.", { id: "a" }), ...(start && delta ? [start, delta] : []), finish()],
      done,
    ];
    const turn = await turnWith({ agent: agentWith(), steps });
    expect(turn.result.message.parts).toMatchObject([
      { type: "step-start" },
      { text: "First." },
      { text: "One " },
      { type: "tool-get_weather" },
      { text: " more" },
      { type: "step-start" },
      { text: "Done." },
    ]);
    expect(chunksOf(turn.chunks, "text-end")).toHaveLength(4);
  });
});

describe("a model that fails", () => {
  it("in the middle of a tag is called again, and the call runs once", async () => {
    const broken: Step = async function* () {
      yield text(`So: ${NYC}${NYC.slice(0, 20)}`, { chunks: 5 }).slice(0, -1);
      throw new TypeError("fetch failed");
    };
    given.length = 0;
    const steps = [broken, [text(NYC), finish()], done];
    const turn = await turnWith({ agent: agentWith(), steps });
    expect([given.length, turn.result.finishReason]).toEqual([1, "stop"]);
    const { message } = await readMessage(turn.chunks);
    const types = message?.parts.map(({ type }) => type);
    expect(types).toEqual(["step-start", "tool-get_weather", "step-start", "text"]);
  });

  it("is cancelled when the turn is stopped", async () => {
    const stop = new AbortController();
    let isOver = false;
    const endless: Step = async function* () {
      try {
        yield text(`So: ${NYC}`, { chunks: 5 }).slice(0, -1);
        stop.abort();
        for (;;) yield { type: "text-delta", id: "text_1", delta: "and " };
      } finally {
        isOver = true;
      }
    };
    given.length = 0;
    const { signal } = stop;
    const turn = await turnWith({ agent: agentWith(), steps: [endless], signal });
    expect([given.length, turn.result.finishReason]).toEqual([0, "other"]);
    await expect.poll(() => isOver).toBe(true);
  });
});

describe("a crash", () => {
  it("after the call keeps it as a call: it runs again, and the model is not called", async () => {
    let runs = 0;
    const act = tool({
      inputSchema: z.object({ n: z.number() }),
      execute: ({ n }) => (++runs === 1 ? hang() : n + 1),
    });
    const about = { toolCalls: capabilityTags, effects: { act: "none" } } as const;
    const chat = new Crashing({ act }, about);
    await chat.run([text('So: <capability name="act" n="1" output_var="two" />'), finish()]);
    const after = await chat.recover([text("Done: $two"), finish()]);
    expect([runs, after.result?.finishReason]).toEqual([2, "stop"]);
    expect(await chat.store.read("two")).toBe(2);
    expect(after.types).not.toContain("reset-step");
    const { message } = await readMessage(framesOf(after.frames));
    expect(JSON.stringify(message)).not.toContain("<capability");
    expect(message?.parts.map(({ type }) => type)).toEqual([
      "step-start",
      "text",
      "tool-act",
      "step-start",
      "text",
    ]);
  });

  it("in the middle of a tag leaves nothing of it", async () => {
    const chat = new Crashing(tools, { toolCalls: capabilityTags });
    const half: Step = async function* () {
      yield text(`So: ${NYC.slice(0, 30)}`, { chunks: 2 }).slice(0, -1);
      await hang();
    };
    await chat.run(half);
    given.length = 0;
    const after = await chat.recover([text(`Again: ${NYC}`), finish()], done);
    expect(given).toHaveLength(1);
    expect(JSON.stringify(after.result?.message.parts)).not.toContain("capability");
  });
});

it("an agent with native calls keeps its tools, and its model's tags stay text", async () => {
  const agent = agentWith({ toolCalls: "native" });
  const steps: Step[] = [
    [text(NYC), toolCall("get_weather", { location: "Rome" }), finish("tool-calls")],
    done,
  ];
  const turn = await turnWith({ agent, steps });
  expect(shownText(turn.chunks)).toBe(`${NYC}Done.`);
  const names = [...Object.keys(tools), "set_variable"];
  expect(turn.calls[0]?.tools?.map(({ name }) => name)).toEqual(names);
  expect(JSON.stringify(turn.calls[0]?.tools)).not.toContain("_outputPath");
  expect(textIn(promptOf(turn, 0)[0])).not.toContain("capability");
  expect(promptOf(turn, 1).map(({ role }) => role)).toEqual([
    "system",
    "user",
    "assistant",
    "tool",
  ]);
});
