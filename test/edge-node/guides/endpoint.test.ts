import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createRuntime } from "byref";
import { createClient } from "byref/client";
import { pageFiles, pageFolder } from "byref/page";
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from "ai";
import { beforeAll, expect, it, vi } from "vitest";
import { ensurePage } from "../../../scripts/page.ts";
import { finish, scriptedModel, text } from "byref/testing";
import { sendTo } from "../../support/client.ts";
import { ORIGIN, textOf } from "../../support/edge.ts";
import { type OwnRuntime, withWorker } from "../../support/own-runtime.ts";

const shop = { name: "shop", description: "Sells.", instructions: "Help.", tools: {} };
const returns = { ...shop, name: "returns" };

beforeAll(() => ensurePage());
it("the page presents the application", async () => {
  const model = scriptedModel([]);
  // --- options
  const runtime = createRuntime({
    agents: [shop, returns],
    model,
    page: {
      title: "Orders",
      lead: "Ask about orders and returns, or drop a CSV file here.",
      colors: { accent: { light: "#004499", dark: "#88bbff" }, accentText: "white" },
      examples: [{ title: "5,000 orders", question: "Which customer ordered most?" }],
      agent: "returns",
    },
  });
  // ---
  await withWorker(runtime, async (own) => {
    const response = await sendTo(own as OwnRuntime)(`${ORIGIN}/agents`, { method: "GET" });
    const { page } = (await response.json()) as { readonly page: { readonly title: string } };
    expect(page).toMatchObject({ title: "Orders", agent: "returns" });
  });
});

it("a server in Node serves the page's files", async () => {
  // --- files
  const files = new Map(pageFiles().map((file) => [file.path, file]));
  const server = createServer(({ url = "/" }, response) => {
    const file = files.get(url);
    if (file === undefined) return response.writeHead(404).end();
    response.writeHead(200, file.headers).end(readFileSync(join(pageFolder, file.name)));
  });
  // ---
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  try {
    const index = await get("/");
    expect(index.headers.get("content-security-policy")).toContain("default-src 'self'");
    const [, script = ""] = /src="([^"]+\.js)"/.exec(await index.text()) ?? [];
    const { status, headers } = await get(script);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(headers.get("cache-control")).toContain("immutable");
    expect((await get("/_headers")).status).toBe(404);
  } finally {
    server.close();
  }
});

it("the client and a stock transport hold a conversation", async () => {
  const words = ["It is 9 °C.", "It is 12 °C.", "It is 15 °C."];
  const model = scriptedModel(words.map((said) => [text(said), finish()]));
  await withWorker(createRuntime({ agents: [shop], model }), async (own) => {
    const send = sendTo(own as OwnRuntime);
    const [url, options] = [ORIGIN, { fetch: send }];
    const shown: string[] = [];
    const show = (chunk: { readonly type: string; readonly delta?: unknown }) => {
      if (chunk.type === "text-delta") shown.push(String(chunk.delta));
    };
    // --- with the client
    const chat = createClient(url, options).conversation("trip");
    for await (const chunk of chat.send("What's the weather in NYC?")) show(chunk);
    const answer = await chat.send("And in London?").text(); // or .json()
    // ---
    expect(shown.join("")).toBe(words[0]);
    expect(answer).toBe(words[1]);

    const api = `${ORIGIN}/conversations`;
    vi.stubGlobal("fetch", send);
    // --- with useChat
    const transport = new DefaultChatTransport({ api, body: { agent: "shop" } });
    // ---
    expect(await saidBy(transport)).toBe(words[2]);
  });
});

/** Returns the text of the answer to one message. */
async function saidBy(transport: DefaultChatTransport<UIMessage>): Promise<string> {
  const stream = await transport.sendMessages({
    chatId: "stock",
    trigger: "submit-message",
    messageId: undefined,
    messages: [{ id: "one", role: "user", parts: [{ type: "text", text: "And in Oslo?" }] }],
    abortSignal: undefined,
  });
  let message: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream })) message = state;
  return textOf(message);
}
