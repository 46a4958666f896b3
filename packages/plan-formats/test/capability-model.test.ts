import { capabilityTags } from "../src/capability/capability-model.ts";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../src/turn/agent.ts";
import { chunksOf as framesOf, Crashing, hang } from "../../../test/support/crashing.ts";
import { finish, type Step, text, toolCall } from "../../testing/src/testing.ts";
import {
  agentWith,
  answerWith,
  done,
  given,
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
    const types = message?.parts.map(({ type }) => type).join(" ");
    expect(types).toBe("step-start text tool-get_weather step-start text");
    expect(turn.result.finishReason).toBe("stop");
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

  it("may have the action of a tool as an attribute beside its body", async () => {
    given.length = 0;
    await answerWith('<capability name="memory" action="recall">{"query": "a < b"}</capability>');
    expect(given).toEqual([{ action: "recall", query: "a < b" }]);
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
    const wrong = next.replace('"prompt"', '"input"');
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

it("a crash after the call keeps it as a call: it runs again, and the model is not called", async () => {
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
  const types = message?.parts.map(({ type }) => type).join(" ");
  expect(types).toBe("step-start text tool-act step-start text");
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
