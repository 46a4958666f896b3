import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { SocketConnection } from "../../../src/edge/sockets/socket-connection.ts";
import * as limits from "../../../src/limits.ts";
import { call, newId, objectOf, problemIn, put } from "../../support/edge.ts";
import { haltedTurn } from "../../support/halted-turn.ts";
import { finish, type Step, text } from "../../../packages/testing/src/testing.ts";
import {
  connect,
  resumeFrame,
  saidIn,
  sendFrame,
  upgrade,
  withSockets,
} from "../../support/socket-client.ts";

const evict = (id: string) => evictDurableObject(objectOf(id));

describe("a silent socket", () => {
  it("answers a ping without waking its object", async () => {
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
});

describe("a socket whose object is evicted in mid-turn", () => {
  it("is closed, so that its client does not wait forever, but resumes over another one", async () => {
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
});

describe("a socket of a conversation that is deleted", () => {
  it("is closed", async () => {
    const id = newId();
    await put(id, "a", 1);
    const sockets = [await connect(call, id), await connect(call, id)];
    await evict(id);
    expect((await call("DELETE", `/conversations/${id}`)).status).toBe(204);
    for (const { closed } of sockets) {
      expect(await closed).toEqual({ code: 1000, reason: "The conversation was deleted." });
    }
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
  });
});

const id = "x";
const BAD = [
  ["nothing", "", "bad_json"],
  ["invalid JSON", "x", "bad_json"],
  ["null", null, "bad_request"],
  ["a list", [], "bad_request"],
  ["no type", {}, "bad_request"],
  ["no name", { type: "send" }, "bad_request"],
  ["no such type", { type: "hello", requestId: "r" }, "bad_request"],
  ["a number for a name", { type: "abort", requestId: 5 }, "bad_request"],
  ["an empty name", { type: "abort", requestId: "" }, "bad_request"],
  ["a long name", { type: "abort", requestId: "r".repeat(129) }, "bad_request"],
  ["no conversation", { type: "resume", requestId: "r" }, "bad_request"],
  ["a chunk before the first", resumeFrame("r", id, -1), "bad_request"],
  ["half a chunk", resumeFrame("r", id, 0.5), "bad_request"],
  ["no message", sendFrame("r", id, { messages: [] }), "bad_request"],
  ["no such trigger", sendFrame("r", id, { trigger: "now" }), "bad_request"],
  ["a list for a body", sendFrame("r", id, { body: [] }), "bad_request"],
  ["a number for a header", sendFrame("r", id, { headers: { a: 1 } }), "bad_request"],
  ["JSON too deep", "[".repeat(1_000) + "]".repeat(1_000), "limit_exceeded"],
] as const;

describe("an invalid frame", () => {
  it.each(BAD)("gets an error, and the socket stays open: %s", async (_, text, code) => {
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

  it("closes the socket if there are too many, even across an eviction", async () => {
    const id = newId();
    const socket = await connect(call, id);
    for (let count = 0; count < 5; count++) socket.send("x");
    socket.send(resumeFrame("a", id));
    await socket.until("no-active", "a");
    await evict(id);
    for (let count = 0; count < 5; count++) socket.send("x");
    socket.send(resumeFrame("b", id));
    await socket.until("no-active", "b");
    expect(socket.frames.filter(({ type }) => type === "error")).toHaveLength(10);
    socket.send("x");
    socket.send(sendFrame("c", id, "What is the weather in NYC?"));
    expect(await socket.closed).toMatchObject({ code: 1008 });
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
  });
});

describe("an invalid request", () => {
  it.each([
    ["another conversation", sendFrame("a", "other", "Hi."), "bad_request"],
    ["another conversation's turn", resumeFrame("a", "other"), "bad_request"],
    ["no such agent", sendFrame("a", "x", { body: { agent: "nobody" } }), "not_found"],
    ["no text", sendFrame("a", "x", ""), "bad_request"],
    [
      "nothing to repeat",
      sendFrame("a", "x", { trigger: "regenerate-message", messages: [{ role: "assistant" }] }),
      "bad_request",
    ],
    [
      "a file that is not here",
      sendFrame("a", "x", {
        messages: [
          {
            role: "user",
            parts: [{ type: "file", mediaType: "image/png", url: "https://example.com/a.png" }],
          },
        ],
      }),
      "bad_value",
    ],
  ])("is refused, and the socket stays open: %s", async (_, frame, code) => {
    const id = newId();
    const socket = await connect(call, id);
    for (let count = 0; count < 10; count++) {
      socket.send({ ...frame, requestId: `a${count}`, id: frame.id === "x" ? id : frame.id });
    }
    for (let count = 0; count < 10; count++) {
      const [refused] = await socket.until("error", `a${count}`);
      expect(refused).toMatchObject({ errorText: expect.stringMatching(new RegExp(`^${code}: `)) });
    }
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
    socket.send(sendFrame("ok", id, "What is the weather in NYC?"));
    expect(saidIn(await socket.until("end", "ok"))).toContain("New York");
    socket.close();
  });

  it("is one with an id in use, or one that exceeds the open requests of a socket", async () => {
    const { open, reached, options } = haltedTurn();
    await withSockets(options, async (own) => {
      const socket = await connect(own.call, "c");
      socket.send(sendFrame("a", "c", "Hello."));
      await reached;
      socket.send(resumeFrame("a", "c"));
      expect(await socket.until("error", "a")).toContainEqual(
        expect.objectContaining({ errorText: expect.stringMatching(/^bad_request: /) }),
      );
      for (let count = 0; count < 20; count++) socket.send(resumeFrame(`w${count}`, "c"));
      const [refused] = await socket.until("error", "w19");
      expect(refused).toMatchObject({ errorText: expect.stringMatching(/^rate_limited: /) });
      open();
      await socket.until("end", "w0");
      await socket.until("end", "a");
    });
  });
});

/** The server's end of a socket that records the codes with which it is closed. */
function silentSocket() {
  let note: unknown = { conversation: "c", badFrames: 0, sentChars: 0, isBusy: false };
  const closed: number[] = [];
  const socket = {
    send: () => undefined,
    close: (code: number) => closed.push(code),
    serializeAttachment: (value: unknown) => {
      note = value;
    },
    deserializeAttachment: () => note,
  };
  // The members of a socket that the connection uses.
  return { closed, socket: socket as unknown as WebSocket };
}

describe("a socket that is never read", () => {
  const chunk = "x".repeat(9_000_000);

  it("is closed after several turns have sent too much", () => {
    const { closed, socket } = silentSocket();
    for (let turn = 0; turn < 2; turn++) {
      const line = new SocketConnection(socket);
      const watch = line.begin("a", { isResumed: false });
      line.sendChunk(watch, 0, chunk);
      line.finish(watch);
    }
    expect(closed).toEqual([1013]);
  });
});

describe("a socket with a turn that is silent for long", () => {
  it("receives its start again, so that nothing in between takes it for dead", async () => {
    const { open, reached, options } = haltedTurn();
    await withSockets(options, async (own) => {
      const socket = await connect(own.call, "c");
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
      try {
        socket.send(sendFrame("a", "c", "Hello."));
        await reached;
        await vi.waitUntil(() => saidIn(socket.frames) === "Before.");
        const isStartedAgain = () =>
          socket.frames.filter(({ type }) => type === "start").length > 1;
        while (!isStartedAgain()) await vi.advanceTimersByTimeAsync(limits.keepAliveMs);
        open();
        const frames = await socket.until("end", "a");
        const starts = frames.filter(({ type }) => type === "start");
        expect(starts.length).toBeGreaterThan(1);
        expect(saidIn(frames)).toBe("Before. After.");
      } finally {
        vi.useRealTimers();
      }
      socket.close();
    });
  });
});
