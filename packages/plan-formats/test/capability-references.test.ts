import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/turn/agent.ts";
import { finish, type Step, text, toolCall } from "../../testing/src/testing.ts";
import { agentWith, done, NYC, read } from "../../../test/support/tagged-agent.ts";
import { Conversation, shownText, turnWith } from "../../../test/support/turn.ts";

describe("the references of a model that calls with tags", () => {
  it("are read in answers in its syntaxes only", async () => {
    const saved = NYC.replace(" />", ' output_var="weather" />');
    const answer = "{{weather.temp}} {{ weather.location }} $weather.temp `{{weather}}` {{none}}";
    const said: Step = [text(answer, { chunks: 3 }), finish()];
    const turnOf = (agent: Agent) => turnWith({ agent, steps: [[text(saved), finish()], said] });
    const shown = "72 NYC 72 `{{weather}}` {{none}}";
    const conversation = new Conversation({ agent: agentWith() });
    const both = await conversation.say({ steps: [[text(saved), finish()], said] });
    expect(shownText(both.chunks)).toBe(shown);
    const next = await conversation.say({ steps: [done] });
    expect(read(next, 0)).toContainEqual(["assistant", answer]);
    const mustache = agentWith({ references: { syntaxes: ["mustache"] } });
    expect(shownText((await turnOf(mustache)).chunks)).toBe(
      "72 NYC $weather.temp `{{weather}}` {{none}}",
    );
    const native = await turnWith({
      agent: agentWith({ toolCalls: "native" }),
      steps: [[toolCall("get_weather", { location: "NYC" }), finish()], said],
    });
    expect(shownText(native.chunks)).toContain("{{weather.temp}}");
  });

  it("show no more of guarded variables in an answer than $name does", async () => {
    const conversation = new Conversation({ agent: agentWith() });
    const { store } = conversation;
    await store.save({ name: "key", value: "k1", visibility: "secret" });
    await store.save({ name: "page", value: "x", visibility: "sealed" });
    const answer = "{{key}} {{page}} https://e.org/?q={{page}} $key";
    const { chunks } = await conversation.say({ steps: [[text(answer), finish()]] });
    expect(shownText(chunks)).toBe("[secret: key] x https://e.org/?q={{page}} [secret: key]");
  });

  it.each([
    [undefined, "$name or {{name}}", '"$name"', "$x"],
    [["dollar"], "$name", '"$name"', "$x"],
    [["mustache"], "{{name}}", '"{{name}}"', "{{x}}"],
    [["target"], undefined, undefined, "x"],
  ] as const)("are explained for the syntaxes %j, and no others", async (...row) => {
    const [syntaxes, tag, guide, listed] = row;
    const references = syntaxes === undefined ? {} : { references: { syntaxes } };
    const agent = agentWith({ ...references, variableTools: false });
    const output = NYC.replace(" />", ' output_var="weather" />');
    const conversation = new Conversation({ agent });
    await conversation.store.save({ name: "x", value: {} });
    const turn = await conversation.say({ steps: [[text(output), finish()], done] });
    const [[, system = ""] = [], ...rest] = read(turn, 1);
    if (tag !== undefined) expect(system).toContain(`. ${tag} hands a variable on.`);
    if (guide !== undefined) expect(system).toContain(`Write results as ${guide} or `);
    expect(rest.at(-1)?.[1]).toContain(`<variables>\n${listed}: object`);
    const told = system.replace('{"$var"', "");
    expect(told.includes("$")).toBe(guide === '"$name"');
    expect(told.replace("{{key}}", "").includes("{{")).toBe(tag?.includes("{{") === true);
  });
});
