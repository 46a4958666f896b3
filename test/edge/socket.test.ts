import { describe, expect, it } from "vitest";
import { call, newId } from "../support/edge.ts";
import { connect, saidIn, sendFrame, withSockets } from "../support/socket-client.ts";
import { finish, scriptedModel, text } from "../support/scripted-model.ts";

describe("x", () => {
  it("demo", async () => {
    const id = newId();
    const socket = await connect(call, id);
    console.log("connected");
    setTimeout(() => console.log(JSON.stringify(socket.frames).slice(0, 500)), 3000);
    socket.send(sendFrame("r", id, "What is the weather in NYC?"));
    const frames = await socket.until("end", "r");
    console.log(JSON.stringify(frames).slice(0, 600));
    expect(saidIn(frames)).toContain("New York");
    socket.close();
    console.log(await socket.closed);
  });
  it("own", async () => {
    const model = scriptedModel([[text("Hi."), finish()]]);
    const agents = [{ name: "t", description: "", instructions: "", tools: {} }] as const;
    await withSockets({ agents, model }, async (own) => {
      const socket = await connect(own.call, "c");
      socket.send(sendFrame("r", "c", "Hello"));
      const frames = await socket.until("end", "r");
      expect(saidIn(frames)).toBe("Hi.");
      socket.close();
    });
  });
});
