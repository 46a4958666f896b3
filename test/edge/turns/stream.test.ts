import type { UIMessageChunk } from "ai";
import { describe, expect, it, vi } from "vitest";
import type { Agent } from "../../../src/turn/agent.ts";
import { textOf } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { framesIn, readUntil, chunksIn, messageFrom } from "../../support/turn-client.ts";
import { finish, scriptedModel, text, type Script } from "byref/testing";
import { messageStream, textStream } from "../../../src/edge/turns/turn-response.ts";
import * as limits from "../../../src/limits.ts";
import { TurnLog } from "../../../src/turn/log/turn-log.ts";
import { ask, gate, halting, said } from "../../support/fault-stages.ts";
import { LIVE } from "../../support/event-reader.ts";
import { haltedTurn } from "../../support/halted-turn.ts";
import { slow } from "../../support/slow.ts";

const MAX = 1_000_000_000;

type Frame = { readonly id: number; readonly chunk: UIMessageChunk };

const watch = (own: OwnRuntime, query = "", headers: Record<string, string> = {}) =>
  own.call("GET", `/conversations/c/stream${query}`, { headers });
/** Returns the message that a stock client builds from frames, and from a stream that continues them. */
async function messageIn(...pieces: readonly (string | readonly Frame[])[]) {
  const frames = pieces.flatMap((piece) => (typeof piece === "string" ? numberedIn(piece) : piece));
  return messageFrom(frames.map(({ chunk }) => chunk));
}

/** Returns the frames without the end mark, which has no id. */
function numberedIn(body: string): readonly Frame[] {
  return framesIn(body).flatMap(({ id, data }) =>
    id === undefined ? [] : [{ id: Number(id), chunk: JSON.parse(data) as UIMessageChunk }],
  );
}

it("a stream that is watched again continues after the last frame that a client has received, even when the turn is over", async () => {
  const { open, reached, options } = haltedTurn();
  await withRuntime(options, async (own) => {
    const asked = await ask(own, "Hello.");
    await reached;
    const live = await watch(own, `?after=${MAX + 2}`);
    expect(Object.fromEntries(live.headers)).toMatchObject(LIVE);
    open();
    const all = numberedIn(await asked.text());
    expect(numberedIn(await live.text())).toEqual(all.slice(2));
    for (const count of [0, 1, 3, all.length - 1, all.length]) {
      const rest = await watch(own, `?after=${MAX + count}`);
      expect(numberedIn(await rest.text())).toEqual(all.slice(count));
    }
    const byHeader = await watch(own, "?after=0", { "last-event-id": String(MAX + 4) });
    expect(numberedIn(await byHeader.text())).toEqual(all.slice(4));
    own.wakeAgain();
    const kept = await watch(own, `?after=${MAX + 4}`);
    expect(numberedIn(await kept.text())).toEqual(all.slice(4));
    expect((await watch(own)).status).toBe(204);
  });
});

it("a stream that is watched again continues by itself when the object restarts in the middle of it", async () => {
  const again = gate();
  const anew = halting(again.wait, [], [text("Anew."), finish()]);
  const { reached, options, model } = haltedTurn([anew]);
  await withRuntime(options, async (own) => {
    const asked = await ask(own, "Hello.");
    await reached;
    const had = numberedIn(await readUntil(asked, '"text-end"'));
    expect(had).not.toEqual([]);
    // The step that waits in the old object never ends.
    own.wakeAgain();
    const about = await own.call("GET", "/conversations/c");
    expect(await about.json()).toMatchObject({ status: "running" });
    again.open();
    const [all = "", rest = ""] = await Promise.all(
      ["", `?after=${had.at(-1)?.id}`].map(async (query) => (await watch(own, query)).text()),
    );
    expect(numberedIn(rest)[0]?.chunk).toEqual({ type: "reset-step" });
    expect(textOf(await messageIn(all))).toBe("Anew.");
    expect(textOf(await messageIn(had, rest))).toBe("Anew.");
    expect(model.calls).toHaveLength(2);
    const { messages } = own.conversation().readMessages({ limit: 9, form: "display" });
    expect(messages.map(textOf)).toEqual(["Hello.", "Anew."]);
    const { events } = own.conversation().listEvents({ after: 0, limit: 50 });
    expect(events.map(({ type }) => type)).toEqual(["turn.started", "turn.recovered", "turn.done"]);
  });
});

const agent: Agent = { name: "a", description: "", instructions: "", tools: {} };
const MEGABYTE = 1_048_576;
/** Four megabytes, in deltas of 16 KiB. */
const long: Script = [text("x".repeat(4 * MEGABYTE), { chunks: 16_384 })];

const messagesOf = (own: OwnRuntime) =>
  own.conversation().readMessages({ limit: 200, form: "display" }).messages;

function readerOf({ body }: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (body === null) throw new Error("There is no body.");
  return body.getReader();
}

/** Reads the rest of a stream. */
async function restOf(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let all = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    all += decoder.decode(read.value, { stream: true });
  }
  return all;
}

/** Runs a turn that waits in the middle of its text, after a client has requested it. */
async function halfway(
  first: Script,
  work: (own: OwnRuntime, asked: Response, open: () => void) => Promise<void>,
): Promise<void> {
  const { reached, open, wait } = gate();
  const rest: Script = [text(" After.", { id: "2" }), finish()];
  const model = scriptedModel([halting(wait, first, rest), said]);
  await withRuntime({ agents: [agent], model }, async (own) => {
    const asked = await ask(own, "Go.");
    await reached;
    await work(own, asked, open);
    expect(await (await ask(own, "And now?", "text/plain")).text()).toBe("Hello.");
    expect(messagesOf(own)).toHaveLength(4);
  });
}

describe("a client", () => {
  /** Acts as a client. Returns the stream that it has read in the end, or undefined if it ignores the stream. */
  type Client = (own: OwnRuntime, open: Promise<void>) => Promise<string | undefined>;

  const clients: Readonly<Record<string, Client>> = {
    "that reads one piece, and the rest when all is over": async (own, over) => {
      const reader = readerOf(await watch(own));
      const { value } = await reader.read();
      await over;
      return new TextDecoder().decode(value) + (await restOf(reader));
    },
    "that never reads": async (own) => void (await watch(own)),
    "that is gone, and back when all is over": async (own, over) => {
      const reader = readerOf(await watch(own));
      const had = new TextDecoder().decode((await reader.read()).value);
      await reader.cancel();
      await over;
      const last = framesIn(had).at(-1)?.id ?? "0";
      return had + (await (await watch(own, `?after=${last}`)).text());
    },
  };

  const before: Script = [text("Before.", { chunks: 1 })];

  it.each(Object.entries(clients))("%s", async (_, client) => {
    await halfway(before, async (own, asked, open) => {
      const over = Promise.withResolvers<void>();
      const watching = client(own, over.promise);
      open();
      const all = await asked.text();
      expect(chunksIn(all).at(-1)?.type).toBe("finish");
      over.resolve();
      expect((await watching) ?? all).toBe(all);
    });
  });

  it("that asks, and is silent from the middle of the stream on, keeps nothing from ending", async () => {
    await halfway(before, async (own, asked, open) => {
      const reader = readerOf(asked);
      await reader.read();
      const other = await watch(own);
      open();
      expect(chunksIn(await other.text()).at(-1)?.type).toBe("finish");
      expect(textOf(messagesOf(own)[1])).toBe("Before. After.");
      await vi.waitUntil(() => own.conversation().about().status === "idle");
    });
  });
});

it("a client that stops reading delays neither turn, clients nor a stop", slow, async () => {
  await halfway(long, async (own, asked) => {
    // This client has read nothing yet; another one has read everything.
    const reader = readerOf(await watch(own));
    const stopped = own.call("POST", "/conversations/c/stop");
    const other = await restOf(reader);
    expect(await (await stopped).json()).toEqual({ stopped: true });
    expect(chunksIn(other).at(-1)?.type).toBe("abort");
    expect(textOf(messagesOf(own)[1])).toHaveLength(4 * MEGABYTE);
    // The slow client still receives everything.
    expect(await asked.text()).toBe(other);
  });
});

it.each([messageStream, textStream])(
  "a client is released when it leaves a turn that is silent",
  async (of) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    const log = new TurnLog();
    const news = vi.spyOn(log, "waitForFrames");
    const reader = of(log).getReader();
    const reading = reader.read();
    await reader.cancel();
    expect(await reading).toEqual({ done: true, value: undefined });
    await vi.advanceTimersByTimeAsync(4 * limits.keepAliveMs);
    expect(news).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  },
);
