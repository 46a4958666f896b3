import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { afterEach, describe, expect, it, vi } from "vitest";
import { messageStream, textStream } from "../../../src/edge/turns/turn-response.ts";
import * as limits from "../../../src/limits.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import { TurnLog } from "../../../src/turn/log/turn-log.ts";
import { textOf } from "../../support/edge.ts";
import { ask, gate, halting, said } from "../../support/fault-stages.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { finish, type Script, scriptedModel, text } from "../../../packages/testing/src/testing.ts";
import { chunksIn, framesIn } from "../../support/turn-client.ts";

const agent: Agent = { name: "a", description: "", instructions: "", tools: {} };
const MEGABYTE = 1_048_576;
/** Four megabytes, in deltas of 16 KiB. */
const long: Script = [text("x".repeat(4 * MEGABYTE), { chunks: 16_384 })];

afterEach(() => {
  vi.useRealTimers();
});

const watch = (own: OwnRuntime, query = "") => own.call("GET", `/conversations/c/stream${query}`);
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
    "that reads": async (own) => (await watch(own)).text(),
    "that reads one piece, and the rest when all is over": async (own, over) => {
      const reader = readerOf(await watch(own));
      const { value } = await reader.read();
      await over;
      return new TextDecoder().decode(value) + (await restOf(reader));
    },
    "that reads nothing until all is over": async (own, over) => {
      const response = await watch(own);
      await over;
      return response.text();
    },
    "that never reads": async (own) => void (await watch(own)),
    "that is gone at once": async (own) => (await watch(own)).body?.cancel().then(() => undefined),
    "that is gone after one piece": async (own) => {
      const reader = readerOf(await watch(own));
      await reader.read();
      await reader.cancel();
      return undefined;
    },
    "that is gone, and back": async (own) => {
      const reader = readerOf(await watch(own));
      const had = new TextDecoder().decode((await reader.read()).value);
      await reader.cancel();
      const last = framesIn(had).at(-1)?.id ?? "0";
      return had + (await (await watch(own, `?after=${last}`)).text());
    },
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
});

describe("a client that stops reading, in an answer of megabytes", () => {
  it("delays neither the turn, nor other clients, nor a stop", async () => {
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
    "is released when it leaves a turn that is silent",
    async (of) => {
      vi.useFakeTimers({
        toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"],
      });
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
});

describe("posts", () => {
  const echo = ({ prompt }: LanguageModelV4CallOptions): Script => [
    text(`You said: ${questionIn(prompt)}`),
    finish(),
  ];

  it("of two messages at once are answered in order", async () => {
    const model = scriptedModel([echo, echo]);
    await withRuntime({ agents: [agent], model }, async (own) => {
      const two = await Promise.all(["One.", "Two."].map((words) => ask(own, words, "text/plain")));
      const texts = await Promise.all(two.map((response) => response.text()));
      expect(texts).toEqual(["You said: One.", "You said: Two."]);
      const history = messagesOf(own).map(textOf);
      expect(history).toEqual(["One.", "You said: One.", "Two.", "You said: Two."]);
    });
  });
});

/** Returns the newest text of the user. */
function questionIn(prompt: LanguageModelV4Prompt): string {
  const question = prompt.findLast(({ role }) => role === "user");
  if (question?.role !== "user") return "";
  return question.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
