import { createRuntime } from "byref";
import { expect, it, vi } from "vitest";
import { createClient } from "../../../packages/client/src/client.ts";
import { byrefTransport } from "../../../packages/client/src/react/byref-transport.ts";
import { LiveConversation, liveOf } from "../../../packages/client/src/react/live-conversation.ts";
import { finish, scriptedModel, text } from "byref/testing";
import { type Send, sendTo } from "../../support/client.ts";
import { ORIGIN } from "../../support/edge.ts";
import { type OwnRuntime, withWorker } from "../../support/own-runtime.ts";
import { slow } from "../../support/slow.ts";

const agent = { name: "test", description: "For tests.", instructions: "Help.", tools: {} };

/** Sends requests until the connection is cut, which also aborts open responses. */
function lineTo(send: Send) {
  const ends = new Set<(reason: Error) => void>();
  let isCut = false;
  const lost = () => new TypeError("The network is gone.");
  return {
    cut: () => {
      isCut = true;
      for (const end of ends) end(lost());
    },
    mend: () => void (isCut = false),
    send: (async (url, init) => {
      if (isCut) throw lost();
      const response = await send(url, init);
      const broken = Promise.withResolvers<never>();
      broken.promise.catch(() => undefined);
      ends.add(broken.reject);
      const reader = response.body?.getReader();
      if (reader === undefined) return response;
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const { done, value } = await Promise.race([reader.read(), broken.promise]);
          if (done) controller.close();
          else controller.enqueue(value);
        },
      });
      return new Response(body, response);
    }) satisfies Send,
  };
}

async function withLive(
  work: (given: {
    readonly live: LiveConversation;
    readonly conversation: ReturnType<ReturnType<typeof createClient>["conversation"]>;
    readonly line: ReturnType<typeof lineTo>;
    /** Subscribes like components that show variables and events. */
    readonly show: () => void;
  }) => Promise<void>,
): Promise<void> {
  const model = scriptedModel([[text("Hello."), finish()]]);
  await withWorker(createRuntime({ agents: [agent], model }), async (own) => {
    const send = sendTo(own as OwnRuntime);
    const line = lineTo(send);
    const conversation = createClient(ORIGIN, { fetch: send }).conversation("live");
    const watched = createClient(ORIGIN, { fetch: line.send }).conversation("live");
    await conversation.variables.put("first", 1);
    const live = new LiveConversation(watched);
    const ends: (() => void)[] = [];
    const show = () => {
      for (const { subscribe } of [live.variables, live.events]) {
        ends.push(subscribe(() => undefined));
      }
    };
    await work({ live, conversation, line, show });
    for (const end of ends) end();
  });
}

it("says that the connection is lost, and has each event once when it is back", slow, () =>
  withLive(async ({ live, conversation, line, show }) => {
    show();
    await vi.waitFor(() => expect(live.events.read()).toMatchObject({ isLive: true }));
    line.cut();
    await vi.waitFor(() => expect(live.events.read()).toMatchObject({ isLive: false }));
    await conversation.variables.put("first", 2);
    await conversation.variables.put("second", 1);
    line.mend();
    await vi.waitFor(() => expect(live.events.read()).toMatchObject({ isLive: true }));
    await vi.waitFor(() => {
      const { variables = [] } = live.variables.read();
      expect(variables.map(({ name, version }) => [name, version])).toEqual([
        ["first", 2],
        ["second", 1],
      ]);
      const { events } = live.events.read();
      expect(events.map(({ id, variable }) => [id, variable?.name, variable?.version])).toEqual([
        [1, "first", 1],
        [2, "first", 2],
        [3, "second", 1],
      ]);
    });
  }),
);

it("shows a conversation that was deleted and began anew (Hal0ai/hal0#785)", slow, () =>
  withLive(async ({ live, conversation, show }) => {
    show();
    await conversation.variables.put("first", 2);
    await vi.waitFor(() => expect(live.events.read().events).toHaveLength(2));
    await conversation.delete();
    await conversation.variables.put("anew", 1);
    await vi.waitFor(() => {
      const { events, isLive } = live.events.read();
      expect([isLive, events.map(({ variable }) => variable?.name)]).toEqual([true, ["anew"]]);
      expect(live.variables.read().variables?.map(({ name }) => name)).toEqual(["anew"]);
    });
  }),
);

it("has each event once, however often a browser is back online", slow, async () => {
  let online = () => {};
  vi.stubGlobal("addEventListener", (_type: string, listener: () => void) => {
    online = listener;
  });
  await withLive(async ({ live, conversation, show }) => {
    show();
    for (let version = 2; version <= 40; version++) {
      await conversation.variables.put("first", version);
      online();
    }
    const ids = Array.from({ length: 40 }, (_, at) => at + 1);
    await vi.waitFor(() => expect(live.events.read().events.at(-1)?.id).toBe(40));
    expect(live.events.read().events.map(({ id }) => id)).toEqual(ids);
  });
  vi.unstubAllGlobals();
});

it("listens to the page while something shows it, and is kept among the last 20 (matrix-org/matrix-react-sdk#3826)", () => {
  const signals: AbortSignal[] = [];
  vi.stubGlobal(
    "addEventListener",
    (...[, , { signal }]: [string, object, { signal: AbortSignal }]) => void signals.push(signal),
  );
  const client = createClient(ORIGIN, { fetch: () => new Promise(() => undefined) });
  const open = (id: string) => liveOf(client.conversation(id));
  const [shown, left] = [open("shown"), open("left")];
  const ends = [shown, left].map(({ events }) => events.subscribe(() => undefined));
  ends.pop()?.();
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  for (let other = 0; other < 18; other++) open(`${other}`);
  expect(open("left")).toBe(left);
  for (let other = 18; other < 38; other++) open(`${other}`);
  expect([open("shown") === shown, open("left") === left]).toEqual([true, false]);
  ends.pop()?.();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  vi.unstubAllGlobals();
});

it("shows the metadata of a secret, and forgets a part that nothing shows", slow, () =>
  withLive(async ({ live, conversation }) => {
    await conversation.variables.put("token", "abc", { visibility: "secret" });
    const part = live.part("token", undefined);
    const end = part.subscribe(() => undefined);
    await vi.waitFor(() => expect(part.read().status).toBe("ready"));
    expect(part.read()).toMatchObject({ value: undefined, info: { visibility: "secret" } });
    expect(live.part("token", undefined)).toBe(part);
    end();
    await vi.waitFor(() => expect(live.part("token", undefined)).not.toBe(part));
  }),
);

it("the transport's own headers are sent once, however they are written (adobe/fastly-native-promises#295)", async () => {
  const sent: Headers[] = [];
  const fetch: Send = async (_, { headers }) => {
    sent.push(new Headers(headers));
    return new Response(null, { status: 204 });
  };
  const headers = { "Content-Type": "application/json", Authorization: "Bearer old", "X-Own": "1" };
  const transport = byrefTransport(ORIGIN, { fetch, headers, auth: "key" });
  const messages = [{ id: "m", role: "user" as const, parts: [] }];
  const about = {
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: undefined,
  } as const;
  await transport.sendMessages({ chatId: "c", messages, ...about });
  expect(Object.fromEntries(sent[0] ?? [])).toMatchObject({
    "content-type": "application/json",
    authorization: "Bearer key",
    "x-own": "1",
  });
});

it.each(["stop", "leave"] as const)("an abort of the chat with onAbort %s", async (onAbort) => {
  const asked: string[] = [];
  const fetch: Send = async (url, { method, signal }) => {
    asked.push(`${method} ${new URL(url).pathname}`);
    const start = `id: 1\ndata: ${JSON.stringify({ type: "start" })}\n\n`;
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(start));
        signal?.addEventListener("abort", () => controller.error(signal.reason));
      },
    });
    return new Response(body);
  };
  const stopping = new AbortController();
  const stream = await byrefTransport(ORIGIN, { fetch, onAbort }).sendMessages({
    chatId: "c",
    messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "Hi." }] }],
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: stopping.signal,
  });
  const reader = stream.getReader();
  expect(await reader.read()).toMatchObject({ value: { type: "start" } });
  stopping.abort(new Error("Enough."));
  await expect(reader.read()).rejects.toThrow("Enough.");
  const stops = onAbort === "stop" ? ["POST /conversations/c/stop"] : [];
  expect(asked).toEqual(["POST /conversations", ...stops]);
});
