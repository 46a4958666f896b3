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

  it("puts, lists, reads and deletes files", async () => {
    const { files } = createClient(scripted.server.url).conversation("files");
    const path = "reports 2026/what?#ü.csv";
    const first = await files.put(path, "id\r\n1\r\n", { contentType: "text/csv" });
    expect(first).toMatchObject({ path, bytes: 7, mediaType: "text/csv" });
    await files.put("notes.txt", "alpha", { visibility: "sealed" });
    await files.put("raw", new Uint8Array([0, 255]));
    await files.put("untyped", new Blob(["x"]));
    await files.put("page", new Blob(["<p>"], { type: "text/html" }));
    const { files: all, next } = await files.list();
    expect(all.map(({ path: at, mediaType, visibility }) => [at, mediaType, visibility])).toEqual([
      ["notes.txt", "text/plain", "sealed"],
      ["page", "text/html", "model"],
      ["raw", "application/octet-stream", "model"],
      [path, "text/csv", "model"],
      ["untyped", "application/octet-stream", "model"],
    ]);
    expect(next).toBeUndefined();
    expect((await files.list({ limit: 1 })).next).toBe("notes.txt");
    const part = await files.open(path, { range: "bytes=4-4" });
    expect([part.status, await part.text()]).toEqual([206, "1"]);
    const stale = files.put(path, "id", { ifNoneMatch: "*" });
    await expect(stale).rejects.toMatchObject({ code: "precondition_failed" });
    await expect(files.delete(path, { ifMatch: '"other"' })).rejects.toMatchObject({ status: 412 });
    await files.delete(path, { ifMatch: first.etag });
    await expect(files.open(path)).rejects.toMatchObject({ code: "not_found" });
  });

  it("stops reading when it is aborted, while the turn continues", async () => {
    const gate = Promise.withResolvers<void>();
    scripted.endpoint.play([{ kind: "text", text: "Still here.", hold: gate.promise }]);
    const conversation = createClient(line.url).conversation("left");
    const leaving = new AbortController();
    const reading = (async () => {
      for await (const { type } of conversation.send("Wait.", leaving)) {
        if (type === "text-delta") leaving.abort(new Error("enough"));
      }
    })();
    await expect(reading).rejects.toThrow("enough");
    expect((await conversation.about()).status).toBe("running");
    let told = "";
    for await (const chunk of conversation.resume()) {
      if (chunk.type === "start") gate.resolve();
      if (chunk.type === "text-delta") told += chunk.delta;
    }
    expect(told).toBe("Still here.");
  });

  it("reads events as they happen, and a value exactly as stored", async () => {
    const conversation = createClient(line.url).conversation("events");
    const bytes = new Uint8Array(100_000).map((_, index) => index);
    await conversation.variables.put("raw", new Blob([bytes], { type: "image/png" }));
    const names: (string | undefined)[] = [];
    for await (const { variable } of conversation.events()) {
      names.push(variable?.name);
      if (names.length === 1) void conversation.variables.put("list", [1, "zwei", null]);
      else break;
    }
    expect(names).toEqual(["raw", "list"]);
    expect(await conversation.variables.get("raw")).toEqual(bytes);
    expect(await conversation.variables.get("list")).toEqual([1, "zwei", null]);
  });
});
