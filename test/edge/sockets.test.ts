import {
  tool,
  type UIMessageChunk,
  readUIMessageStream,
  type UIMessage,
  WebSocketChatTransport,
} from "ai";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { json, problemIn, textOf, callWith, newId, call, objectOf, put } from "../support/edge.ts";
import { haltedTurn } from "../support/halted-turn.ts";
import type { OwnRuntime } from "../support/own-runtime.ts";
import { finish, scriptedModel, type Step, text, toolCall } from "byref/testing";
import {
  connect,
  resumeFrame,
  saidIn,
  sendFrame,
  type ServerFrame,
  upgrade,
  withSockets,
  socketClassFor,
} from "../support/socket-client.ts";
import { chunksIn } from "../support/turn-client.ts";
import { evictDurableObject } from "cloudflare:test";
import { SocketConnection } from "../../src/edge/sockets/sockets.ts";
import * as limits from "../../src/limits.ts";

const says = (what: string): Step => [text(what), finish()];
const messagesOf = (own: OwnRuntime) =>
  own.conversation().readMessages({ limit: 50, form: "display" }).messages;

/** Returns the chunks, and checks that they are numbered without a gap. */
function chunksOf(frames: readonly ServerFrame[], first = 0): readonly UIMessageChunk[] {
  const chunks = frames.filter((frame) => frame.type === "chunk");
  expect(chunks.map(({ sequence }) => sequence)).toEqual(chunks.map((_, index) => first + index));
  return chunks.map(({ chunk }) => chunk);
}

it("a message over a socket receives the same as over HTTP: start, the chunks numbered from 0, end", async () => {
  const { open, reached, options } = haltedTurn();
  await withSockets(options, async (own) => {
    const socket = await connect(own.call, "c");
    socket.send(sendFrame("a", "c", "Hello."));
    await reached;
    const stream = await own.call("GET", "/conversations/c/stream");
    open();
    const frames = await socket.until("end", "a");
    expect(frames[0]).toEqual({ type: "start", requestId: "a" });
    expect(frames.at(-1)).toEqual({ type: "end", requestId: "a" });
    expect(chunksOf(frames)).toEqual(chunksIn(await stream.text()));
    expect(messagesOf(own).map(textOf)).toEqual(["Hello.", "Before. After."]);
  });
});

it("a message over a socket that is sent twice is one turn, wherever it comes from", async () => {
  const { open, reached, options, model } = haltedTurn();
  await withSockets(options, async (own) => {
    const [one, other] = [await connect(own.call, "c"), await connect(own.call, "c")];
    const frame = { ...sendFrame("a", "c", "Hello."), headers: { "Idempotency-Key": "k" } };
    one.send(frame);
    await reached;
    other.send({ ...frame, requestId: "b", headers: { "idempotency-key": "k" } });
    other.send({ ...sendFrame("d", "c", "Ho."), headers: { "idempotency-key": "k" } });
    const [refused] = await other.until("error", "d");
    expect(refused).toMatchObject({ errorText: expect.stringMatching(/^idempotency_mismatch: /) });
    const { id, messages, trigger } = frame;
    const posted = own.call("POST", "/conversations", json({ id, messages, trigger }));
    open();
    const chunks = chunksOf(await one.until("end", "a"));
    expect(chunksOf(await other.until("end", "b"))).toEqual(chunks);
    expect(chunksIn(await (await posted).text())).toEqual(chunks);
    expect(model.calls).toHaveLength(1);
  });
});

it("resume replays the running turn, then continues live, also when the socket that asked has closed", async () => {
  const { open, reached, options } = haltedTurn();
  await withSockets(options, async (own) => {
    const asking = await connect(own.call, "c");
    asking.send(sendFrame("a", "c", "Hello."));
    await reached;
    asking.close();
    expect(await asking.closed).toMatchObject({ code: 1000 });
    const watchers = await Promise.all([1, 2].map(() => connect(own.call, "c")));
    for (const watcher of watchers) watcher.send(resumeFrame("w", "c"));
    for (const watcher of watchers) await watcher.until("chunk", "w");
    open();
    const [first, second] = await Promise.all(watchers.map((one) => one.until("end", "w")));
    expect(first?.[0]).toEqual({ type: "start", requestId: "w" });
    expect(saidIn(first ?? [])).toBe("Before. After.");
    expect(chunksOf(second ?? [])).toEqual(chunksOf(first ?? []));
  });
});

it("resume continues after the chunk that a client names, if it exists", async () => {
  const { open, reached, options } = haltedTurn();
  await withSockets(options, async (own) => {
    const socket = await connect(own.call, "c");
    socket.send(sendFrame("a", "c", "Hello."));
    await reached;
    socket.send(resumeFrame("b", "c", 1));
    socket.send(resumeFrame("c", "c", 1_000));
    const [refused] = await socket.until("error", "c");
    expect(refused).toMatchObject({ errorText: expect.stringMatching(/^bad_request: /) });
    open();
    const all = chunksOf(await socket.until("end", "a"));
    expect(chunksOf(await socket.until("end", "b"), 2)).toEqual(all.slice(2));
  });
});

it("abort stops the turn: its text is kept and marked, and nothing more arrives", async () => {
  const { reached, options } = haltedTurn([says("Next.")]);
  await withSockets(options, async (own) => {
    const socket = await connect(own.call, "c");
    const other = await connect(own.call, "c");
    socket.send(sendFrame("a", "c", "Hello."));
    await reached;
    other.send(resumeFrame("w", "c"));
    await other.until("chunk", "w");
    const before = socket.frames.length;
    socket.send({ type: "abort", requestId: "a" });
    const seen = chunksOf(await other.until("end", "w"));
    expect(seen.at(-1)).toMatchObject({ type: "abort" });
    const [, answer] = messagesOf(own);
    expect(answer?.metadata).toMatchObject({ stopped: true });
    expect(textOf(answer)).toBe("Before.");
    expect(own.conversation().about().status).toBe("idle");
    socket.send(sendFrame("b", "c", "More."));
    expect(saidIn(await socket.until("end", "b"))).toBe("Next.");
    expect(socket.frames.slice(before).every(({ requestId }) => requestId === "b")).toBe(true);
  });
});

it("a socket that closes makes room for another: a conversation has 16 at most", async () => {
  await withSockets(haltedTurn().options, async (own) => {
    const sockets = Array.from({ length: 16 }, () => connect(own.call, "c"));
    const [first] = await Promise.all(sockets);
    await problemIn(await upgrade(own.call, "c"), "rate_limited");
    first?.close();
    await first?.closed;
    await expect.poll(() => own.state.getWebSockets().length).toBe(15);
    const another = await connect(own.call, "c");
    another.send(resumeFrame("a", "c"));
    await another.until("no-active", "a");
  });
});

describe("who opens a socket", () => {
  const look = tool({
    inputSchema: z.object({}),
    contextSchema: z.object({ principal: z.string() }),
    execute: (_, { context }) => `for ${context.principal}`,
  });
  const runtimeOf = (noteChars: number) => ({
    agents: [{ name: "a", description: "", instructions: "", tools: { look } }] as const,
    model: scriptedModel([[toolCall("look", {}), finish("tool-calls")], says("It is $look_1.")]),
    authenticator: () => ({
      tenant: "local",
      principal: "ada",
      claims: { note: "x".repeat(noteChars) },
    }),
  });

  it.each([10, 6_000])("asks in each turn that it sends, with %i characters of claims", (chars) =>
    withSockets(runtimeOf(chars), async (own) => {
      const socket = await connect(own.call, "c");
      socket.send(sendFrame("a", "c", "Look."));
      expect(saidIn(await socket.until("end", "a"))).toBe("It is for ada.");
    }),
  );

  it("is told if the claims are too long to be kept", () =>
    withSockets(runtimeOf(20_000), async (own) => {
      await problemIn(await upgrade(own.call, "c"), "limit_exceeded");
    }));
});

const KEY = "0123456789abcdef";
const APP = "https://app.example";
const bearer = { AUTH: "bearer", API_KEYS: JSON.stringify({ [KEY]: "a" }) };
const withKeys = callWith(bearer);
const withCors = callWith({ ...bearer, CORS_ORIGINS: APP });
const local = callWith({ AUTH: "none" });

it("a socket has the first protocol that its client offers, with which a key may come (open-ace/open-ace#564)", async () => {
  const offered = { "sec-websocket-protocol": "chat, k3y" };
  const { headers, webSocket } = await upgrade(call, newId(), offered);
  expect(headers.get("sec-websocket-protocol")).toBe("chat");
  webSocket?.accept();
  webSocket?.close();
});

it("the authentication of a socket needs a key, wherever the page comes from", async () => {
  await problemIn(await upgrade(withCors, newId(), { origin: APP }), "unauthorized");
});

it.each(["https://evil.example", "null", "", "https://app.example:8443"])(
  "the authentication of a socket keeps pages of %j out, with a key or without",
  async (origin) => {
    const headers = { authorization: `Bearer ${KEY}`, origin, host: "localhost" };
    for (const call of [withKeys, withCors, local]) {
      const response = await upgrade(call, newId(), headers);
      expect(response.webSocket).toBeNull();
      await problemIn(response, "foreign_origin");
    }
  },
);

const evict = (id: string) => evictDurableObject(objectOf(id));

it("a silent socket answers a ping without waking its object", async () => {
  const id = newId();
  const { webSocket } = await upgrade(call, id);
  webSocket?.accept();
  const answer = () =>
    new Promise((done) => {
      webSocket?.addEventListener("message", ({ data }) => done(data), { once: true });
      webSocket?.send("ping");
    });
  expect(await answer()).toBe("pong");
  await evict(id);
  expect(await answer()).toBe("pong");
  webSocket?.close(1000, "done");
});

it("a socket whose object is evicted in mid-turn is closed, so that its client does not wait forever, but resumes over another one", async () => {
  const again = Promise.withResolvers<void>();
  const second: Step = async function* () {
    await again.promise;
    yield [text("Again."), finish()].flat();
  };
  const { reached, options } = haltedTurn([second]);
  await withSockets(options, async (own) => {
    const [busy, idle] = [await connect(own.call, "c"), await connect(own.call, "c")];
    busy.send(sendFrame("a", "c", "Hello."));
    await reached;
    await busy.until("chunk", "a");
    own.wakeAgain();
    expect(await busy.closed).toMatchObject({ code: 1012 });
    // The platform would delay messages until the object is awake.
    await own.awake();
    idle.send(resumeFrame("w", "c"));
    await idle.until("start", "w");
    again.resolve();
    expect(saidIn(await idle.until("end", "w"))).toMatch(/Again\.$/);
    idle.close();
  });
});

it("a socket of a conversation that is deleted is closed", async () => {
  const id = newId();
  await put(id, "a", 1);
  const { closed } = await connect(call, id);
  await evict(id);
  expect((await call("DELETE", `/conversations/${id}`)).status).toBe(204);
  expect(await closed).toEqual({ code: 1000, reason: "The conversation was deleted." });
});

const id = "x";
const BAD = [
  ["nothing", "", "bad_json"],
  ["invalid JSON", "x", "bad_json"],
  ["no type", {}, "bad_request"],
  ["no such type", { type: "hello", requestId: "r" }, "bad_request"],
  ["a number for a name", { type: "abort", requestId: 5 }, "bad_request"],
  ["a long name", { type: "abort", requestId: "r".repeat(129) }, "bad_request"],
  ["no conversation", { type: "resume", requestId: "r" }, "bad_request"],
  ["a chunk before the first", resumeFrame("r", id, -1), "bad_request"],
  ["no message", sendFrame("r", id, { messages: [] }), "bad_request"],
  ["a list for a body", sendFrame("r", id, { body: [] }), "bad_request"],
  ["JSON too deep", "[".repeat(1_000) + "]".repeat(1_000), "limit_exceeded"],
] as const;

it.each(BAD)("an invalid frame gets an error: %s", async (_, text, code) => {
  const id = newId();
  const socket = await connect(call, id);
  socket.send(text);
  socket.send(resumeFrame("ok", id));
  await socket.until("no-active", "ok");
  const [refused] = socket.frames;
  expect(refused).toMatchObject({
    type: "error",
    errorText: expect.stringMatching(new RegExp(`^${code}: `)),
  });
  expect(["", "r"]).toContain(refused?.requestId);
  socket.close();
});

const file = { type: "file", mediaType: "image/png", url: "https://example.com/a.png" };

it.each([
  ["another conversation", { id: "other" }, "bad_request"],
  ["no such agent", { body: { agent: "nobody" } }, "not_found"],
  ["a file that is not here", { messages: [{ role: "user", parts: [file] }] }, "bad_value"],
])("an invalid request is refused, and the socket stays open: %s", async (_, what, code) => {
  const id = newId();
  const socket = await connect(call, id);
  // More often than frames that are invalid.
  const names = Array.from({ length: 12 }, (__, count) => `a${count}`);
  for (const name of names) socket.send(sendFrame(name, id, what));
  for (const name of names) {
    const [refused] = await socket.until("error", name);
    expect(refused).toMatchObject({ errorText: expect.stringMatching(new RegExp(`^${code}: `)) });
  }
  await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
  socket.send(sendFrame("ok", id, "What is the weather in NYC?"));
  expect(saidIn(await socket.until("end", "ok"))).toContain("New York");
  socket.close();
});

/** The server's end of a socket that records the codes with which it is closed. */
function silentSocket() {
  let note: unknown = { conversation: "c", sentChars: 0, isBusy: false };
  const closed: number[] = [];
  const socket = {
    send: () => undefined,
    close: (code: number) => closed.push(code),
    serializeAttachment: (value: unknown) => void (note = value),
    deserializeAttachment: () => note,
  };
  // The members of a socket that the connection uses.
  return { closed, socket: socket as unknown as WebSocket };
}

it("a socket that is never read is closed after several turns have sent too much", () => {
  const { closed, socket } = silentSocket();
  for (let turn = 0; turn < 2; turn++) {
    const line = new SocketConnection(socket);
    const watch = line.begin("a", false);
    line.sendChunk(watch, 0, "x".repeat(9_000_000));
    line.finish(watch);
  }
  expect(closed).toEqual([1013]);
});

it("a socket with a turn that is silent for long receives its start again, so that nothing in between takes it for dead", async () => {
  const { open, reached, options } = haltedTurn();
  await withSockets(options, async (own) => {
    const socket = await connect(own.call, "c");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    socket.send(sendFrame("a", "c", "Hello."));
    await reached;
    await vi.waitUntil(() => saidIn(socket.frames) === "Before.");
    const isStartedAgain = () => socket.frames.filter(({ type }) => type === "start").length > 1;
    while (!isStartedAgain()) await vi.advanceTimersByTimeAsync(limits.keepAliveMs);
    open();
    const frames = await socket.until("end", "a");
    expect(frames.filter(({ type }) => type === "start").length).toBeGreaterThan(1);
    expect(saidIn(frames)).toBe("Before. After.");
    vi.useRealTimers();
    socket.close();
  });
});

it("the AI SDK's own transport resumes after its socket has gone: the same message, from its first part", async () => {
  const { open, reached, options } = haltedTurn();
  await withSockets(options, async (own) => {
    const transport = new WebSocketChatTransport<UIMessage>({
      url: "http://localhost/conversations/c/socket",
      webSocket: socketClassFor(own.call),
    });
    const asked = await transport.sendMessages({
      chatId: "c",
      trigger: "submit-message",
      messageId: undefined,
      messages: [{ id: newId(), role: "user", parts: [{ type: "text", text: "Hello." }] }],
      abortSignal: undefined,
    });
    await reached;
    transport.close();
    await expect(asked.pipeTo(new WritableStream())).rejects.toThrow(/closed/);
    const stream = await transport.reconnectToStream({ chatId: "c" });
    if (stream === null) throw new Error("There is nothing to resume.");
    open();
    let message: UIMessage | undefined;
    for await (const state of readUIMessageStream({ stream })) message = state;
    expect(textOf(message)).toBe("Before. After.");
    expect(message?.id).toBe(messagesOf(own).at(-1)?.id);
    transport.close();
  });
});
