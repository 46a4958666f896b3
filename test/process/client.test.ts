import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { type Line, startLine } from "../support/line.ts";
import { type ScriptedServer, startScriptedServer } from "../support/scripted-server.ts";
import { textOf } from "../support/turn-client.ts";

describe("the client with npm start", () => {
  let scripted: ScriptedServer;
  let line: Line;

  beforeAll(async () => {
    scripted = await startScriptedServer();
    line = await startLine(scripted.server.url);
  });

  afterAll(async () => {
    await line?.down();
    await scripted?.stop();
  });

  it("streams a whole turn through a connection that is cut in the middle", async () => {
    const gate = Promise.withResolvers<void>();
    const text = "A long answer, of which nothing is missing.";
    scripted.endpoint.play([{ kind: "text", text, hold: gate.promise }]);
    const conversation = createClient(line.url).conversation("cut");
    let told = "";
    let cuts = 0;
    const turn = conversation.send("Tell me.");
    for await (const chunk of turn) {
      if (chunk.type !== "text-delta") continue;
      told += chunk.delta;
      if (cuts++ > 0) continue;
      line.cut();
      line.mend();
      gate.resolve();
    }
    expect(told).toBe(text);
    expect(await turn.text()).toBe(text);
    expect(scripted.endpoint.requests).toHaveLength(1);
    expect(line.connections()).toBeGreaterThan(1);
    const { messages } = await conversation.messages();
    expect(messages.map(textOf)).toEqual(["Tell me.", text]);
  });
});
