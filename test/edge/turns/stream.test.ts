import {
  DefaultChatTransport,
  readUIMessageStream,
  tool,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../src/turn/agent.ts";
import { json, newId, ORIGIN, textOf } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { refuseRows } from "../../support/storage.ts";
import { framesIn as eventsIn, readUntil } from "../../support/turn-client.ts";
import {
  finish,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";

const MAX = 1_000_000_000;

interface Frame {
  readonly id: number;
  readonly chunk: UIMessageChunk;
}

/** A gate at which a scripted turn waits. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let reach = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  return {
    open,
    reached,
    wait: () => {
      reach();
      return opened;
    },
  };
}

/** A turn that streams a text, waits, and streams another one. */
function halted(more: readonly Step[] = []) {
  const { open, reached, wait } = gate();
  const step: Step = async function* () {
    yield text("Before.", { id: "1" });
    await wait();
    yield text(" After.", { id: "2" });
    yield finish();
  };
  const agent: Agent = {
    name: "test",
    description: "For tests.",
    instructions: "Help.",
    tools: { act: tool({ inputSchema: z.object({}), execute: () => 1 }) },
  };
  const model = scriptedModel([step, ...more]);
  return { open, reached, model, options: { agents: [agent] as const, model } };
}

const ask = (own: OwnRuntime, message = "Hello.", accept = "text/event-stream") =>
  own.call("POST", "/conversations/c/messages", json({ message }, { accept }));
const watch = (own: OwnRuntime, query = "", headers: Record<string, string> = {}) =>
  own.call("GET", `/conversations/c/stream${query}`, { headers });
const stop = async (own: OwnRuntime) => {
  const response = await own.call("POST", "/conversations/c/stop");
  return response.json<{ stopped: boolean }>();
};

/** Returns the message that a stock client builds from frames, and from a stream that continues them. */
async function messageIn(...pieces: readonly (string | readonly Frame[])[]) {
  const frames = pieces.flatMap((piece) => (typeof piece === "string" ? framesIn(piece) : piece));
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const { chunk } of frames) controller.enqueue(chunk);
      controller.close();
    },
  });
  let message: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream })) message = state;
  return message;
}

/** Returns the frames without the end mark, which has no id. */
function framesIn(body: string): readonly Frame[] {
  return eventsIn(body).flatMap(({ id, data }) =>
    id === undefined ? [] : [{ id: Number(id), chunk: JSON.parse(data) as UIMessageChunk }],
  );
}

describe("a stream that is watched again", () => {
  it("is byte for byte the same for everybody who joins while the turn runs", async () => {
    const { open, reached, options } = halted();
    await withRuntime(options, async (own) => {
      const asked = await ask(own);
      await reached;
      const watchers = await Promise.all([watch(own), watch(own), watch(own)]);
      expect(watchers.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(watchers[0]?.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
      open();
      const bodies = await Promise.all([asked, ...watchers].map((response) => response.text()));
      expect(new Set(bodies).size).toBe(1);
      const frames = framesIn(bodies[0] ?? "");
      expect(frames.map(({ id }) => id)).toEqual(frames.map((_, index) => MAX + 1 + index));
      expect(bodies[0]?.endsWith("data: [DONE]\n\n")).toBe(true);
    });
  });

  it("continues when its client has gone, which does not stop the turn", async () => {
    const { open, reached, options } = halted();
    await withRuntime(options, async (own) => {
      const asked = await ask(own);
      await reached;
      await asked.body?.cancel();
      const watcher = await watch(own);
      open();
      expect(await watcher.text()).toContain(" After.");
    });
  });

  it("continues after the last frame that a client has received, even when the turn is over", async () => {
    const { open, reached, options } = halted();
    await withRuntime(options, async (own) => {
      const asked = await ask(own);
      await reached;
      const live = await watch(own, `?after=${MAX + 2}`);
      open();
      const all = framesIn(await asked.text());
      expect(framesIn(await live.text())).toEqual(all.slice(2));
      for (const count of [0, 1, 3, all.length - 1, all.length]) {
        const rest = await watch(own, `?after=${MAX + count}`);
        expect(framesIn(await rest.text())).toEqual(all.slice(count));
      }
      const byHeader = await watch(own, "?after=0", { "last-event-id": String(MAX + 4) });
      expect(framesIn(await byHeader.text())).toEqual(all.slice(4));
      own.wakeAgain();
      const kept = await watch(own, `?after=${MAX + 4}`);
      expect(framesIn(await kept.text())).toEqual(all.slice(4));
      expect((await watch(own)).status).toBe(204);
    });
  });

  it("continues by itself when the object restarts in the middle of it", async () => {
    const again = gate();
    const anew: Step = async function* () {
      await again.wait();
      yield text("Anew.");
      yield finish();
    };
    const { reached, options, model } = halted([anew]);
    await withRuntime(options, async (own) => {
      const asked = await ask(own);
      await reached;
      const had = framesIn(await readUntil(asked, '"text-end"'));
      expect(had).not.toEqual([]);
      // The step that waits in the old object never ends.
      own.wakeAgain();
      const about = await own.call("GET", "/conversations/c");
      expect(await about.json()).toMatchObject({ status: "running" });
      again.open();
      const [all = "", rest = ""] = await Promise.all(
        ["", `?after=${had.at(-1)?.id}`].map(async (query) => (await watch(own, query)).text()),
      );
      expect(framesIn(rest)[0]?.chunk).toEqual({ type: "reset-step" });
      expect(textOf(await messageIn(all))).toBe("Anew.");
      expect(textOf(await messageIn(had, rest))).toBe("Anew.");
      expect(model.calls).toHaveLength(2);
      const { messages } = own.conversation().readMessages({ limit: 9, form: "display" });
      expect(messages.map(textOf)).toEqual(["Hello.", "Anew."]);
      const { events } = own.conversation().listEvents({ after: 0, limit: 50 });
      expect(events.map(({ type }) => type)).toEqual([
        "turn.started",
        "turn.recovered",
        "turn.done",
      ]);
    });
  });

  it("ends with an error if a deployment has removed the agent", async () => {
    const { reached, options } = halted();
    const agents = [{ ...options.agents[0], name: "another" }] as const;
    await withRuntime(options, async (own) => {
      await ask(own);
      await reached;
      own.wakeAgain({ agents });
      const rest = await (await watch(own, `?after=${MAX}`)).text();
      expect(framesIn(rest).at(-1)?.chunk).toMatchObject({
        type: "error",
        errorText: expect.stringMatching(/^not_found: /),
      });
      const { messages } = own.conversation().readMessages({ limit: 9, form: "display" });
      expect(messages.at(-1)?.metadata).toMatchObject({ error: "not_found" });
      expect(await (await own.call("GET", "/conversations/c")).json()).toMatchObject({
        status: "idle",
      });
    });
  });

  it("is not over if its end could not be stored: it is 204 until the turn continues", async () => {
    const { open, options } = halted([[text("Anew."), finish()]]);
    await withRuntime(options, async (own) => {
      const makeRoom = refuseRows(own.state.storage, '"isOpen":false');
      open();
      const had = framesIn(await (await ask(own)).text());
      expect(had.at(-1)?.chunk).toMatchObject({ type: "error" });
      expect((await watch(own, `?after=${MAX + 3}`)).status).toBe(204);
      makeRoom();
      own.wakeAgain();
      const rest = framesIn(await (await watch(own, `?after=${MAX + 3}`)).text());
      expect(rest.at(-1)?.chunk).toMatchObject({ type: "finish" });
      const { messages } = own.conversation().readMessages({ limit: 9, form: "display" });
      expect(messages.map(textOf)).toEqual(["Hello.", "Anew."]);
    });
  });

  it("is taken up by the AI SDK's own transport, which finds nothing when it is over", async () => {
    const { open, reached, options } = halted();
    await withRuntime(options, async (own) => {
      const fetchFrom: typeof fetch = (url, init) =>
        own.call(init?.method ?? "GET", String(url), init);
      const api = `${ORIGIN}/conversations`;
      const transport = new DefaultChatTransport({ api, fetch: fetchFrom });
      const asked = await ask(own);
      await reached;
      const stream = await transport.reconnectToStream({ chatId: "c" });
      open();
      let message: UIMessage | undefined;
      if (stream !== null) {
        for await (const state of readUIMessageStream({ stream })) message = state;
      }
      expect(textOf(message)).toBe("Before. After.");
      await asked.text();
      const { messages } = own.conversation().readMessages({ limit: 5, form: "display" });
      expect(message?.id).toBe(messages[1]?.id);
      expect(await transport.reconnectToStream({ chatId: "c" })).toBeNull();
    });
  });

  it("has unique ids in a conversation, and an old id gets all of a new turn", async () => {
    const { open, options } = halted([[text("Again."), finish()]]);
    await withRuntime(options, async (own) => {
      open();
      const first = framesIn(await (await ask(own)).text());
      own.wakeAgain();
      const second = framesIn(await (await ask(own, "More.")).text());
      expect(new Set([...first, ...second].map(({ id }) => id)).size).toBe(
        first.length + second.length,
      );
      const late = await watch(own, `?after=${first.at(-1)?.id}`);
      expect(framesIn(await late.text())).toEqual(second);
    });
  });

  it("is 204 without a turn, after its end, and without a conversation", async () => {
    const { open, options } = halted();
    await withRuntime(options, async (own) => {
      expect((await watch(own)).status).toBe(204);
      expect((await watch(own, "?after=5")).status).toBe(204);
      open();
      await (await ask(own)).text();
      expect((await watch(own)).status).toBe(204);
      await own.conversation().deleteAll();
      expect((await watch(own, `?after=${MAX}`)).status).toBe(204);
    });
  });

  it.each(["x", "-1", "1.5"])("is refused with an invalid id: %s", async (after) => {
    await withRuntime(halted().options, async (own) => {
      expect((await watch(own, `?after=${after}`)).status).toBe(400);
    });
  });
});

describe("stop", () => {
  it("ends the running turn: its text is kept and marked, and the model is not called again", async () => {
    const { reached, options, model } = halted();
    await withRuntime(options, async (own) => {
      const asked = await ask(own);
      await reached;
      expect(await stop(own)).toEqual({ stopped: true });
      const chunks = framesIn(await asked.text()).map(({ chunk }) => chunk);
      expect(chunks.at(-1)).toMatchObject({ type: "abort" });
      const { messages } = own.conversation().readMessages({ limit: 5, form: "display" });
      expect(messages[1]?.parts).toContainEqual(
        expect.objectContaining({ type: "text", text: "Before." }),
      );
      expect(messages[1]?.metadata).toMatchObject({ stopped: true });
      expect(model.calls).toHaveLength(1);
      expect(await stop(own)).toEqual({ stopped: false });
      expect(own.conversation().about()).toMatchObject({ status: "idle" });
    });
  });

  it("reaches a tool, and the next message is answered", async () => {
    const { wait, reached } = gate();
    let aborted = false;
    const hangs = tool({
      inputSchema: z.object({}),
      execute: async (_, { abortSignal }) => {
        abortSignal?.addEventListener("abort", () => {
          aborted = true;
        });
        await wait();
        return 1;
      },
    });
    const agent: Agent = { name: "t", description: "", instructions: "", tools: { hangs } };
    const model = scriptedModel([
      [toolCall("hangs", {}), finish("tool-calls")],
      [text("Here."), finish()],
    ]);
    await withRuntime({ agents: [agent], model }, async (own) => {
      const asked = ask(own);
      const waiting = ask(own, "And now?", "text/plain");
      await reached;
      expect(await stop(own)).toEqual({ stopped: true });
      await (await asked).text();
      expect(await (await waiting).text()).toBe("Here.");
      expect(aborted).toBe(true);
    });
  });

  it("of an unknown conversation is 404", async () => {
    await withRuntime(halted().options, async (own) => {
      const response = await own.call("POST", `/conversations/${newId()}/stop`);
      expect(response.status).toBe(404);
    });
  });
});
