import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { afterEach, describe, expect, it, vi } from "vitest";
import { messageStream, textStream } from "../../../src/edge/turns/turn-response.ts";
import * as limits from "../../../src/limits.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import { TurnLog } from "../../../src/turn/log/turn-log.ts";
import { json, problemIn, textOf } from "../../support/edge.ts";
import { ask, gate, halting, said } from "../../support/fault-stages.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  type Script,
  scriptedModel,
  type Step,
  text,
} from "../../../packages/testing/src/testing.ts";
import { slow } from "../../support/slow.ts";
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

  it("of each kind at once, and ten readers: all receive the same", async () => {
    await halfway(before, async (own, asked, open) => {
      const over = Promise.withResolvers<void>();
      const kinds = Object.values(clients);
      const readers = Array.from({ length: 10 }, () => clients["that reads"] ?? kinds[0]);
      const watching = [...kinds, ...readers].map((client) => client?.(own, over.promise));
      await asked.body?.cancel();
      open();
      const last = watching.slice(-10);
      const all = new Set(await Promise.all(last));
      over.resolve();
      for (const had of await Promise.all(watching)) if (had !== undefined) all.add(had);
      expect(all.size).toBe(1);
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

  it("uses at most a megabyte besides the log", slow, async () => {
    await halfway(long, async (own, asked, open) => {
      open();
      const all = await asked.text();
      const reader = readerOf(await watch(own, "?after=0"));
      let had = 0;
      let largest = 0;
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        largest = Math.max(largest, read.value.length);
        had += read.value.length;
      }
      expect(had).toBe(all.length);
      // One piece is prepared and one waits: the others are made when the client reads.
      expect(largest).toBeLessThanOrEqual(MEGABYTE / 2);
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
  const chat = (own: OwnRuntime, words: string, accept: string) => {
    const parts = [{ type: "text", text: words }];
    const body = { id: "c", messages: [{ id: "q", role: "user", parts }] };
    return own.call("POST", "/conversations", json(body, { accept }));
  };

  it.each(["text/event-stream", "text/plain", "application/json"])(
    "of one message at the same time are one turn (%s)",
    async (accept) => {
      const model = scriptedModel([echo, echo]);
      await withRuntime({ agents: [agent], model }, async (own) => {
        const two = await Promise.all([chat(own, "Hi.", accept), chat(own, "Hi.", accept)]);
        const [one, other] = await Promise.all(two.map((response) => response.text()));
        expect(one).toContain("You said: Hi.");
        expect(other).toBe(one);
        expect(model.calls).toHaveLength(1);
        expect(messagesOf(own)).toHaveLength(2);
      });
    },
  );

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

  it("of fifty messages at once: nine are accepted, the others can be sent again, and none is lost", async () => {
    const words = Array.from({ length: 50 }, (_, index) => `message ${index}`);
    let round = gate();
    const inRound: Step = async (options) => {
      await round.wait();
      return echo(options);
    };
    const model = scriptedModel(words.map(() => inRound));
    await withRuntime({ agents: [agent], model }, async (own) => {
      const rounds: number[] = [];
      for (let left: readonly string[] = words; left.length > 0;) {
        round = gate();
        const posts = await Promise.all(left.map((one) => ask(own, one, "text/plain")));
        round.open();
        const refused: string[] = [];
        for (const [index, response] of posts.entries()) {
          const one = left[index] ?? "";
          if (response.status === 200) expect(await response.text()).toBe(`You said: ${one}`);
          else {
            expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
            await problemIn(response, "rate_limited");
            refused.push(one);
          }
        }
        rounds.push(left.length - refused.length);
        left = refused;
      }
      expect(rounds).toEqual([...Array<number>(5).fill(limits.maxQueuedTurns + 1), 5]);
      // Questions and answers alternate, and each answer follows its own question.
      const messages = messagesOf(own);
      expect(messages.map(({ role }) => role)).toEqual(words.flatMap(() => ["user", "assistant"]));
      const history = messages.map(textOf);
      const asked = history.filter((_, index) => index % 2 === 0);
      expect(history).toEqual(asked.flatMap((one) => [one, `You said: ${one}`]));
      expect(asked.toSorted()).toEqual(words.toSorted());
      expect(model.calls).toHaveLength(50);
    });
  });
});

/** Returns the newest text of the user. */
function questionIn(prompt: LanguageModelV4Prompt): string {
  const question = prompt.findLast(({ role }) => role === "user");
  if (question?.role !== "user") return "";
  return question.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
