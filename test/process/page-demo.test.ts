import { afterAll, beforeAll, expect, it } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { type WorkerServer, startWorkerServer } from "../support/worker-server.ts";

let server: WorkerServer;

beforeAll(async () => {
  server = await startWorkerServer();
});

afterAll(() => server?.stop());

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly approval?: { readonly id: string };
}

it("a page of 300 KB is fetched, changed and published with 200 tokens from the model", async () => {
  const chat = createClient(server.url).conversation("page-demo");
  /** Returns the output of the model: its text, and the inputs of its calls. */
  const written = async () => {
    const { messages } = await chat.messages({ form: "reference" });
    return messages.flatMap(({ role, parts }) =>
      role === "assistant" ? (parts as readonly Part[]) : [],
    );
  };
  await chat.send("Change the prices on my page, and publish it.", { agent: "pages" }).text();
  const waiting = (await written()).find(({ type }) => type === "tool-publish_page");
  const approval = waiting?.approval?.id ?? "";
  const { message } = (await chat.approvals.decide(approval, { approved: true }).json()) as {
    message: { parts: readonly Part[] };
  };

  const before = String(await chat.variables.get("get_page_prices", { version: 1 }));
  const after = before.replace("2025", "2026").replaceAll("EUR 19", "EUR 21");
  expect(before.length).toBeGreaterThan(280_000);
  expect(await chat.variables.get("get_page_prices")).toBe(after);
  const published = message.parts.find(({ type }) => type === "tool-publish_page");
  expect(published?.output).toMatchObject({ value: { published: true, characters: after.length } });

  const parts = await written();
  const calls = parts.filter(({ type }) => type.startsWith("tool-"));
  expect(calls.map(({ type }) => type)).toEqual([
    "tool-get_page",
    "tool-edit_variable",
    "tool-publish_page",
  ]);
  const texts = parts.flatMap(({ text }) => text ?? []);
  const chars = [...calls.map(({ input }) => JSON.stringify(input)), ...texts].join("").length;
  // Four characters are about one token.
  expect(chars).toBeLessThan(800);
});
