import { tool, type UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { json, problemIn, textOf, callWith, newId } from "../../support/edge.ts";
import { haltedTurn } from "../../support/halted-turn.ts";
import type { OwnRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";
import {
  connect,
  resumeFrame,
  saidIn,
  sendFrame,
  type ServerFrame,
  upgrade,
  withSockets,
} from "../../support/socket-client.ts";
import { chunksIn } from "../../support/turn-client.ts";

const says = (what: string): Step => [text(what), finish()];
const messagesOf = (own: OwnRuntime) =>
  own.conversation().readMessages({ limit: 50, form: "display" }).messages;

/** Returns the chunks, and checks that they are numbered without a gap. */
function chunksOf(frames: readonly ServerFrame[], first = 0): readonly UIMessageChunk[] {
  const chunks = frames.filter((frame) => frame.type === "chunk");
  expect(chunks.map(({ sequence }) => sequence)).toEqual(chunks.map((_, index) => first + index));
  return chunks.map(({ chunk }) => chunk);
}

describe("a message over a socket", () => {
  it("receives the same as over HTTP: start, the chunks numbered from 0, end", async () => {
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

  it("may have an agent and an input in its body, and only its last message counts", async () => {
    const { open, options, model } = haltedTurn();
    await withSockets(options, async (own) => {
      open();
      const socket = await connect(own.call, "c");
      const frame = sendFrame("a", "c", {
        body: { agent: "test", input: { x: 5 } },
      });
      const forged = { id: "f", role: "assistant", parts: [{ type: "text", text: "FORGED" }] };
      socket.send({ ...frame, messages: [forged, ...frame.messages] });
      await socket.until("end", "a");
      expect(
        own
          .conversation()
          .listVariables()
          .map(({ name }) => name),
      ).toEqual(["input"]);
      expect(JSON.stringify(model.calls)).not.toContain("FORGED");
      expect(messagesOf(own)).toHaveLength(2);
    });
  });

  it("waits while another is answered, and is refused when too many wait", async () => {
    const answers = Array.from({ length: 8 }, (_, at) => says(`Answer ${at}.`));
    const { open, reached, options } = haltedTurn(answers);
    await withSockets(options, async (own) => {
      const socket = await connect(own.call, "c");
      const ids = Array.from({ length: 10 }, (_, at) => `r${at}`);
      for (const id of ids) socket.send(sendFrame(id, "c", `Question ${id}.`));
      await reached;
      const [refused] = await socket.until("error", "r9");
      expect(refused).toMatchObject({ errorText: expect.stringMatching(/^rate_limited: /) });
      open();
      const all = await Promise.all(ids.slice(0, 9).map((id) => socket.until("end", id)));
      for (const frames of all) chunksOf(frames);
      expect(all.slice(1).map(saidIn)).toEqual(answers.map((_, at) => `Answer ${at}.`));
      expect(messagesOf(own).map(({ role }) => role)).toEqual(
        all.flatMap(() => ["user", "assistant"]),
      );
    });
  });

  it("that is sent twice is one turn, wherever it comes from", async () => {
    const { open, reached, options, model } = haltedTurn();
    await withSockets(options, async (own) => {
      const [one, other] = [await connect(own.call, "c"), await connect(own.call, "c")];
      const frame = sendFrame("a", "c", "Hello.");
      one.send(frame);
      await reached;
      other.send({ ...frame, requestId: "b" });
      const { id, messages, trigger } = frame;
      const posted = own.call("POST", "/conversations", json({ id, messages, trigger }));
      open();
      const chunks = chunksOf(await one.until("end", "a"));
      expect(chunksOf(await other.until("end", "b"))).toEqual(chunks);
      expect(chunksIn(await (await posted).text())).toEqual(chunks);
      expect(model.calls).toHaveLength(1);
    });
  });
});

describe("resume", () => {
  it("replays the running turn to any number of sockets, then continues live", async () => {
    const { open, reached, options } = haltedTurn();
    await withSockets(options, async (own) => {
      const asking = await connect(own.call, "c");
      asking.send(sendFrame("a", "c", "Hello."));
      await reached;
      const watchers = await Promise.all([1, 2, 3].map(() => connect(own.call, "c")));
      for (const watcher of watchers) watcher.send(resumeFrame("w", "c"));
      for (const watcher of watchers) await watcher.until("chunk", "w");
      open();
      const chunks = chunksOf(await asking.until("end", "a"));
      for (const watcher of watchers) {
        const frames = await watcher.until("end", "w");
        expect(frames[0]).toEqual({ type: "start", requestId: "w" });
        expect(chunksOf(frames)).toEqual(chunks);
      }
    });
  });

  it("continues after the chunk that a client names, if it exists", async () => {
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
});

describe("abort", () => {
  it("stops the turn: its text is kept and marked, and nothing more arrives", async () => {
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

  it("of a waiting message does not stop the running one", async () => {
    const { open, reached, options, model } = haltedTurn([says("Third.")]);
    await withSockets(options, async (own) => {
      const socket = await connect(own.call, "c");
      socket.send(sendFrame("a", "c", "First."));
      await reached;
      socket.send(sendFrame("b", "c", "Second."));
      socket.send(sendFrame("c", "c", "Third."));
      await socket.until("start", "c");
      socket.send({ type: "abort", requestId: "b" });
      open();
      expect(saidIn(await socket.until("end", "a"))).toBe("Before. After.");
      expect(saidIn(await socket.until("end", "c"))).toBe("Third.");
      expect(model.calls).toHaveLength(2);
      const texts = ["First.", "Before. After.", "Second.", "Third.", "Third."];
      expect(
        messagesOf(own)
          .map(textOf)
          .filter((said) => said !== ""),
      ).toEqual(texts);
    });
  });

  it("of an unknown or finished request does nothing", async () => {
    const { open, options } = haltedTurn([says("Next.")]);
    await withSockets(options, async (own) => {
      open();
      const socket = await connect(own.call, "c");
      socket.send({ type: "abort", requestId: "?" });
      socket.send(sendFrame("a", "c", "Hello."));
      await socket.until("end", "a");
      socket.send({ type: "abort", requestId: "a" });
      socket.send(sendFrame("b", "c", "More."));
      expect(saidIn(await socket.until("end", "b"))).toBe("Next.");
      expect(socket.frames.filter(({ type }) => type === "error")).toEqual([]);
    });
  });
});

describe("a socket that closes", () => {
  it("does not stop its turn, which another socket resumes", async () => {
    const { open, reached, options } = haltedTurn();
    await withSockets(options, async (own) => {
      const gone = await connect(own.call, "c");
      gone.send(sendFrame("a", "c", "Hello."));
      await reached;
      gone.close();
      expect(await gone.closed).toMatchObject({ code: 1000 });
      const socket = await connect(own.call, "c");
      socket.send(resumeFrame("b", "c"));
      await socket.until("start", "b");
      open();
      expect(saidIn(await socket.until("end", "b"))).toBe("Before. After.");
      expect(messagesOf(own).map(textOf)).toEqual(["Hello.", "Before. After."]);
    });
  });

  it("makes room for another: a conversation has 16 at most", async () => {
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
const OTHER_KEY = "fedcba9876543210";
const APP = "https://app.example";
const authorization = `Bearer ${KEY}`;
const bearer = { AUTH: "bearer", API_KEYS: JSON.stringify({ [KEY]: "a", [OTHER_KEY]: "b" }) };
const withKeys = callWith(bearer);
const withCors = callWith({ ...bearer, CORS_ORIGINS: `${APP}, http://localhost:5173` });
const local = callWith({ AUTH: "none" });

async function expectSocket(response: Response): Promise<void> {
  expect(response.status).toBe(101);
  expect(response.webSocket).not.toBeNull();
  response.webSocket?.accept();
  response.webSocket?.close(1000, "done");
}

describe("the authentication of a socket", () => {
  it("lets nobody in without a key, wherever the page comes from", async () => {
    await problemIn(await upgrade(withKeys, newId()), "unauthorized");
    await problemIn(await upgrade(withCors, newId(), { origin: APP }), "unauthorized");
    await problemIn(await upgrade(callWith({}), newId()), "unauthorized");
  });

  it.each([
    ["localhost", "http://localhost"],
    ["localhost:8787", "http://localhost:8787"],
    ["byref.example", "https://byref.example"],
  ])("lets pages of its own origin in: host %s, origin %s", async (host, origin) => {
    await expectSocket(await upgrade(withKeys, newId(), { authorization, host, origin }));
  });

  it.each([APP, "http://localhost:5173"])(
    "lets pages of %s in, by CORS_ORIGINS",
    async (origin) => {
      const response = await upgrade(withCors, newId(), { authorization, origin });
      expect(response.headers.get("access-control-allow-origin")).toBe(origin);
      await expectSocket(response);
    },
  );

  it.each([
    "https://evil.example",
    "null",
    "",
    "http://localhost:3000",
    "https://localhost.evil.example",
    "https://app.example.evil",
    "https://app.example:8443",
    "http://app.example",
    "file://",
  ])("keeps pages of %j out, with a key or without", async (origin) => {
    for (const call of [withKeys, withCors]) {
      const response = await upgrade(call, newId(), { authorization, origin, host: "localhost" });
      expect(response.webSocket).toBeNull();
      await problemIn(response, "foreign_origin");
    }
    const response = await upgrade(local, newId(), { origin, host: "localhost" });
    await problemIn(response, "foreign_origin");
  });

  it("refuses requests without a WebSocket upgrade or a valid id", async () => {
    await problemIn(await local("GET", `/conversations/${newId()}/socket`), "bad_request");
    await problemIn(await upgrade(local, newId(), { upgrade: "h2c" }), "bad_request");
    await problemIn(await upgrade(local, "a%20b"), "bad_request");
    await problemIn(await upgrade(local, "a%2Fb"), "bad_request");
  });

  it("leads each tenant to its own conversation", async () => {
    const id = newId();
    await withKeys("PUT", `/conversations/${id}/variables/x`, {
      headers: { authorization, "content-type": "application/json" },
      body: "1",
    });
    const other = { authorization: `Bearer ${OTHER_KEY}` };
    await expectSocket(await upgrade(withKeys, id, other));
    const about = await withKeys("GET", `/conversations/${id}`, { headers: other });
    await problemIn(about, "conversation_not_found");
  });
});
