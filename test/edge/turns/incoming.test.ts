import { describe, expect, it } from "vitest";
import type { UIMessage } from "ai";
import * as limits from "../../../src/limits.ts";
import { ask, call, get, json, newId, problemIn } from "../../support/edge.ts";

const PNG = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 0, 255]);
const dataUrl = (bytes: Uint8Array, type: string) =>
  `data:${type};base64,${btoa(String.fromCharCode(...bytes))}`;

async function say(id: string, parts: readonly object[]) {
  const init = json({ message: { role: "user", parts } }, { accept: "application/json" });
  return call("POST", `/conversations/${id}/messages`, init);
}

async function messagesOf(
  id: string,
  form: "display" | "reference",
): Promise<readonly UIMessage[]> {
  const response = await call("GET", `/conversations/${id}/messages?form=${form}`);
  return (await response.json<{ messages: UIMessage[] }>()).messages;
}

describe("a person's long text", () => {
  const long = "Zoë said: ".repeat(2_001);

  it("is a variable: the model reads its handle, and the person its text", async () => {
    const id = newId();
    const { savings } = await ask(id, long);
    expect(await (await get(id, "message_1")).text()).toBe(long);
    expect(await (await get(id, "message_1/info")).json()).toMatchObject({
      sources: ["user"],
      trusted: true,
      count: [...long].length,
    });
    const [shown] = await messagesOf(id, "display");
    expect(shown?.parts).toEqual([{ type: "text", text: long }]);
    const [kept] = await messagesOf(id, "reference");
    expect(JSON.stringify(kept)).toContain('\\"$var\\":\\"message_1\\"');
    expect(JSON.stringify(kept).length).toBeLessThan(1_500);
    // Includes the definitions of the tools.
    expect(savings.promptChars).toBeLessThan(long.length / 2);
  });

  it("stays a text up to the limit", async () => {
    const id = newId();
    const text = "x".repeat(limits.maxBlockChars);
    await ask(id, text);
    expect((await messagesOf(id, "reference"))[0]?.parts).toEqual([{ type: "text", text }]);
    await ask(id, `${text}x`);
    expect((await get(id, "message_1")).status).toBe(200);
  });
});

describe("a message with only white space", () => {
  it.each([
    ["a text", "   "],
    ["characters that cannot be seen", "\u200b \u2060"],
    [
      "parts",
      {
        role: "user",
        parts: [
          { type: "text", text: "\n" },
          { type: "text", text: "" },
        ],
      },
    ],
  ])("is refused, and not stored: %s", async (_, message) => {
    const id = newId();
    await ask(id, "Hello.");
    const response = await call("POST", `/conversations/${id}/messages`, json({ message }));
    expect(await problemIn(response, "bad_request")).toMatchObject({
      detail: "The message has no text.",
    });
    expect(await messagesOf(id, "display")).toHaveLength(2);
  });
});

describe("a person's file", () => {
  it("is a byte variable that the message links to", async () => {
    const id = newId();
    const url = dataUrl(PNG, "image/png");
    const file = { type: "file", mediaType: "image/png", filename: "My photo.png", url };
    const response = await say(id, [{ type: "text", text: "Who are you?" }, file]);
    expect(response.status).toBe(200);
    const value = await get(id, "My_photo");
    expect(value.headers.get("content-type")).toBe("image/png");
    expect(new Uint8Array(await value.arrayBuffer())).toEqual(PNG);
    const [question] = await messagesOf(id, "display");
    expect(question?.parts[1]).toMatchObject({
      type: "file",
      mediaType: "image/png",
      filename: "My photo.png",
      url: `/conversations/${id}/variables/My_photo`,
    });
    expect(JSON.stringify(await messagesOf(id, "reference"))).not.toContain("base64");
  });

  it.each([
    ["application/json", '{"a":[1]}', { a: [1] }],
    ["text/plain; charset=utf-8", "Hällo", "Hällo"],
    ["application/x-ndjson", '{"a":1}\n\n{"a":2}\n', [{ a: 1 }, { a: 2 }]],
  ])("is a parsed value: %s", async (mediaType, text, value) => {
    const id = newId();
    const url = dataUrl(new TextEncoder().encode(text), "text/plain");
    expect((await say(id, [{ type: "file", mediaType, url }])).status).toBe(200);
    const stored = await get(id, "file");
    expect(typeof value === "string" ? await stored.text() : await stored.json()).toEqual(value);
  });

  it("is bytes if it does not match its type", async () => {
    const id = newId();
    const url = `data:,${encodeURIComponent('{"a":')}`;
    await say(id, [{ type: "file", mediaType: "application/json", url }]);
    expect(await (await get(id, "file/info")).json()).toMatchObject({ type: "bytes", count: 5 });
  });

  it("gets the next name if its own is taken", async () => {
    const id = newId();
    const file = { type: "file", mediaType: "image/png", filename: "a.png", url: dataUrl(PNG, "") };
    await say(id, [file, file]);
    expect((await get(id, "a")).status).toBe(200);
    expect((await get(id, "a_2")).status).toBe(200);
  });

  it.each([
    "https://example.com/a.png",
    "http://127.0.0.1/a",
    "file:///etc/passwd",
    "blob:x",
    "/conversations/other/variables/secret",
  ])("is not fetched: %s", async (url) => {
    const id = newId();
    const response = await say(id, [{ type: "file", mediaType: "image/png", url }]);
    await problemIn(response, "bad_value");
    expect((await call("GET", `/conversations/${id}`)).status).toBe(404);
  });

  it("is refused if its data cannot be read", async () => {
    const file = { type: "file", mediaType: "image/png", url: "data:image/png;base64,###" };
    const turn = await (await say(newId(), [file])).text();
    expect(turn).toContain("bad_value");
  });
});
