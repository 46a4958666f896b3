import { type Agent, createRuntime } from "byref";
import { createClient } from "byref/client";
import { expect, it } from "vitest";
import { sendTo } from "../../support/client.ts";
import { ORIGIN, textOf } from "../../support/edge.ts";
import { type OwnRuntime, withWorker } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text } from "byref/testing";

it("shows values while they stream, and keeps both forms", async () => {
  const model = scriptedModel([
    [
      text("Dear {{user.name}}, `$user.name` of {{user.zip}} {{photo}}: {{key}}", { chunks: 3 }),
      finish(),
    ],
  ]);
  const shop = { name: "shop", description: "", instructions: "Be kind.", tools: {} };
  // --- how an agent writes
  const friendly: Agent = {
    ...shop,
    references: { syntaxes: ["mustache"], inCode: false, inUrls: false },
  };
  const runtime = createRuntime({ agents: [friendly], model });
  // ---
  await withWorker(runtime, async (own) => {
    const url = ORIGIN;
    const write = (delta: string) => void written.push(delta);
    const written: string[] = [];
    const noted: string[] = [];
    const note = (reference: string, code: string) => void noted.push(`${reference} ${code}`);
    const chat = createClient(url, { fetch: sendTo(own as OwnRuntime) }).conversation("c");
    await chat.variables.put("user", { name: "Ada" });
    await chat.variables.put("key", "abc", { visibility: "secret" });
    await chat.variables.put("photo", new Uint8Array([1, 2]), { contentType: "image/png" });
    // --- reading an answer
    for await (const chunk of chat.send("Write to me.")) {
      if (chunk.type === "text-delta") write(chunk.delta);
      if (chunk.type === "data-unresolved") note(chunk.data.reference, chunk.data.code);
    }
    const asShown = await chat.messages();
    const asWritten = await chat.messages({ form: "reference" });
    // ---
    const said = "Dear Ada, `$user.name` of {{user.zip}} {{photo}}: [secret: key]";
    expect(written.join("")).toBe(said);
    expect(noted).toEqual(["{{user.zip}} path_not_found", "{{photo}} bad_value"]);
    expect(textOf(asShown.messages.at(-1))).toBe(said);
    const source = "Dear {{user.name}}, `$user.name` of {{user.zip}} {{photo}}: {{key}}";
    expect(textOf(asWritten.messages.at(-1))).toBe(source);
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain("{{name.path}}");
    await chat.variables.put("user", { name: "Eve" });
    expect(textOf((await chat.messages()).messages.at(-1))).toBe(said);
  });
});
