import { describe, expect, it, vi } from "vitest";
import { createClient } from "../../../packages/client/src/client.ts";
import { backOff } from "../../../packages/client/src/client/follow.ts";
import {
  all,
  breaking,
  clientOf,
  type Cut,
  cutOff,
  failureOf,
  hello,
  type Send,
  sendTo,
  speaking,
} from "../../support/client.ts";
import { ORIGIN, textOf } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { finish, type Step, text } from "byref/testing";

it("a turn is read as chunks, text and JSON, but runs only once", async () => {
  const { model, options } = speaking([hello]);
  await withRuntime(options, async (own) => {
    const turn = clientOf(own).conversation("c").send("Hi");
    expect(model.calls).toHaveLength(0);
    const chunks = await all(turn);
    expect(chunks[0]?.type).toBe("start");
    expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    expect(await turn.text()).toBe("Hello from here.");
    const { message, cost } = await turn.json();
    expect(textOf(message)).toBe("Hello from here.");
    expect(cost.rowsWritten).toBeGreaterThan(0);
    expect(model.calls).toHaveLength(1);
  });
});

it("a turn throws from text and json what the chunks contain as an error", async () => {
  const fails: Step = () => {
    throw new Error("down");
  };
  await withRuntime(speaking([fails, fails, fails, fails, fails, fails]).options, async (own) => {
    const conversation = clientOf(own).conversation("c");
    expect((await all(conversation.send("Hi"))).map(({ type }) => type)).toContain("error");
    expect(await failureOf(conversation.send("Hi").text())).toMatchObject({
      code: "model_failed",
      message: expect.stringMatching(/\S/),
    });
    const failure = await failureOf(conversation.send("Hi").json());
    expect(failure).toMatchObject({ code: "model_failed", status: 502 });
  });
});

it("a turn can be resumed after its reader has left, and be stopped", async () => {
  const gate = Promise.withResolvers<void>();
  const step: Step = async function* () {
    yield text("Before.");
    await gate.promise;
    yield finish();
  };
  await withRuntime(speaking([step]).options, async (own) => {
    const conversation = clientOf(own).conversation("c");
    const leaving = new AbortController();
    for await (const { type } of conversation.send("Hi", leaving)) {
      // A client that stops reading does not stop the turn.
      if (type === "text-delta") break;
    }
    expect((await conversation.about()).status).toBe("running");
    const rest = conversation.resume().text();
    expect(await conversation.stop()).toEqual({ stopped: true });
    gate.resolve();
    expect(await rest).toBe("Before.");
  });
});

describe("the client", () => {
  it("sends its key, or a new key with each request", async () => {
    const seen: (string | null)[] = [];
    const fetch: Send = async (_, { headers }) => {
      seen.push(new Headers(headers).get("authorization"));
      return Response.json({ ok: true });
    };
    let count = 0;
    await createClient(ORIGIN, { fetch }).health();
    await createClient(ORIGIN, { fetch, auth: "key" }).health();
    const renewed = createClient(ORIGIN, { fetch, auth: async () => `key-${++count}` });
    await renewed.health();
    await renewed.health();
    expect(seen).toEqual([null, "Bearer key", "Bearer key-1", "Bearer key-2"]);
    const broken = () => Promise.reject(new Error("no key"));
    const without = createClient(ORIGIN, { fetch, auth: broken }).conversation("c");
    await expect(without.send("Hi").text()).rejects.toThrow("no key");
  });

  it("reads the server's health and agents, and a conversation's status", async () => {
    await withRuntime(speaking([hello]).options, async (own) => {
      const client = clientOf(own);
      expect(await client.health()).toMatchObject({ ok: true });
      expect(await client.agents()).toEqual({
        agents: [{ name: "test", description: "For tests." }],
        model: { provider: "scripted", id: "scripted" },
      });
      expect(await client.prompt("test")).toMatchObject({ agent: "test", messages: [{}] });
      expect(await failureOf(client.prompt("a/b"))).toMatchObject({ code: "not_found" });
      expect(await failureOf(client.prompt("test", { conversation: "c" }))).toMatchObject({
        code: "conversation_not_found",
      });
      const conversation = client.conversation("c");
      expect(await failureOf(conversation.about())).toMatchObject({
        code: "conversation_not_found",
        status: 404,
      });
      await conversation.send("Hi").text();
      expect(await conversation.about()).toMatchObject({ id: "c", status: "idle", messages: 2 });
      await conversation.delete();
      expect(await failureOf(conversation.about())).toMatchObject({ status: 404 });
    });
  });

  it.each([
    [200, "<h1>Hello</h1>", "bad_answer"],
    [404, "<h1>Gone</h1>", "bad_answer"],
    [400, '{"code":1015}', "bad_answer"],
    // A proxy's own code is a number; the request is made again.
    [502, '{"code":14,"message":"upstream"}', "unavailable"],
    [504, '{"code":"tool_timeout"}', "tool_timeout"],
  ])("fails if another server answers %i %s, with %s", async (status, text, code) => {
    const fetch = async () => new Response(text, { status });
    const failure = await failureOf(createClient(ORIGIN, { fetch }).health());
    expect(failure).toMatchObject({ code, status, message: text });
  });

  it.each([
    ["../variables/kept", "c"],
    ["../../c", "c"],
    ["a/./b", "c"],
    ["a", ".."],
  ])("asks for nothing else with the path %s in %s (Mnexa-AI/e2a#792)", async (path, id) => {
    await withRuntime(speaking([]).options, async (own) => {
      const client = clientOf(own);
      await client.conversation("c").variables.put("kept", 1);
      const failure = await failureOf(client.conversation(id).files.delete(path));
      expect(failure).toMatchObject({ code: "bad_path", status: 0 });
      expect(await client.conversation("c").variables.get("kept")).toBe(1);
    });
  });

  it("refuses to send a number that JSON does not have", async () => {
    const { variables } = createClient(ORIGIN, {
      fetch: async () => Response.json({}),
    }).conversation("c");
    for (const value of [NaN, [1, Infinity], { a: -Infinity }])
      expect(await failureOf(variables.put("x", value))).toMatchObject({ code: "bad_value" });
  });

  it("supports a base path, and names with any characters", async () => {
    const seen: string[] = [];
    const fetch: Send = async (url) => {
      seen.push(url);
      return Response.json({});
    };
    const { variables } = createClient("http://x/api/", { fetch }).conversation("a/b");
    await variables.info("ü?");
    expect(seen).toEqual(["http://x/api/conversations/a%2Fb/variables/%C3%BC%3F/info"]);
  });
});

it("values are read as they were saved, and so are messages", async () => {
  await withRuntime(speaking([hello]).options, async (own) => {
    const conversation = clientOf(own).conversation("c");
    const { variables } = conversation;
    // fastly/js-compute-runtime#72: `text()` leaves out the mark.
    await variables.put("marked", new Blob(["\uFEFFa"], { type: "text/plain" }));
    expect(await variables.get("marked")).toBe("\uFEFFa");
    const digits =
      "[1234567890123456789,0.12345678901234567890,1e400,-0.1,1e21,0.30000000000000004,9007199254740993.5,1e-400,1.50000000000000000,0.0]";
    await variables.put("digits", new Blob([digits], { type: "application/json" }));
    const read = [
      "1234567890123456789",
      "0.12345678901234567890",
      "1e400",
      -0.1,
      1e21,
      0.1 + 0.2,
      "9007199254740993.5",
      "1e-400",
      1.5,
      0,
    ];
    expect(await variables.get("digits")).toEqual(read);
    expect(await variables.get("digits", { path: "[0]" })).toBe(read[0]);
    // VoidenHQ/voiden#431: so are all answers in JSON.
    const fetch = async () => new Response(digits);
    expect(await clientOf(own, { fetch }).conversation("c").query("SELECT 1")).toEqual(read);
    const metadata = { from: "phone" };
    await conversation.send({ parts: [{ type: "text", text: "Hi" }], metadata }).text();
    expect((await conversation.messages()).messages[0]?.metadata).toEqual(metadata);
  });
});

it("variables hold bytes, with or without a media type", async () => {
  await withRuntime(speaking([]).options, async (own) => {
    const { variables } = clientOf(own).conversation("c");
    const bytes = new Uint8Array([0, 1, 255]);
    expect(await variables.put("raw", bytes)).toMatchObject({ type: "bytes", count: 3 });
    expect(await variables.get("raw")).toEqual(bytes);
    const image = await variables.put("image", new Blob([bytes], { type: "image/png" }));
    expect(image.mediaType).toBe("image/png");
    const csv = await variables.put("csv", new TextEncoder().encode("a,b"), {
      contentType: "text/csv",
    });
    expect(csv.mediaType).toBe("text/csv");
    const part = await variables.open("raw", {}, { range: "bytes=1-1" });
    expect([part.status, new Uint8Array(await part.arrayBuffer())]).toEqual([
      206,
      new Uint8Array([1]),
    ]);
  });
});

it("clients that lose a server together come back at random times, and give up in the end", () => {
  for (const [failures, ms] of [
    [1, 500],
    [4, 4_000],
    [12, 8_000],
  ] as const) {
    const pauses = Array.from({ length: 1_000 }, () => backOff(failures) ?? Infinity);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(ms / 2);
    expect(Math.max(...pauses)).toBeLessThan(1.5 * ms);
    expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(ms / 2);
  }
  expect(backOff(13)).toBeUndefined();
});

describe("a connection that breaks", () => {
  it.each<readonly [Cut["how"], number]>([
    ["fails", 4],
    ["ends", 4],
    ["is silent", 4],
    ["fails", 1],
  ])("%s after %i frames: reading resumes where it stopped", async (how, frames) => {
    const { model, options } = speaking([hello]);
    const silenceMs = 60_000;
    if (how === "is silent") vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    // By then the client waits for more. The rest of the time is for the pause before it tries again.
    const onSilence = () => void setImmediate(() => vi.advanceTimersByTimeAsync(1.5 * silenceMs));
    await withRuntime(options, async (own) => {
      const cuts: readonly Cut[] = [
        { how, frames },
        { how, frames: 2 },
      ];
      const { asked, send } = breaking(own, cuts, onSilence);
      const conversation = clientOf(own, { fetch: send, silenceMs }).conversation("c");
      const turn = conversation.send("Hi");
      const chunks = await all(turn);
      const again = "GET /conversations/c/stream on";
      expect(asked).toEqual(["POST /conversations/c/messages", again, again]);
      expect([chunks, chunks.at(-1)?.type]).toEqual([await all(turn), "finish"]);
      expect(model.calls).toHaveLength(1);
    });
  });

  it("to a restarting server: the message is sent again, also through a proxy that writes CRLF and no spaces (hey-api/hey-api#3054)", async () => {
    await withRuntime(speaking([hello]).options, async (own) => {
      let tries = 0;
      const problem = { code: "restarting", title: "Later" };
      const fetch: Send = async (url, init) => {
        if (++tries < 3) return Response.json(problem, { status: 503 });
        const frames = await (await sendTo(own)(url, init)).text();
        return new Response(frames.replaceAll(": ", ":").replaceAll("\n", "\r\n"));
      };
      const conversation = clientOf(own, { fetch }).conversation("c");
      expect(await failureOf(conversation.about())).toMatchObject({
        code: "unavailable",
        status: 503,
        message: "Later",
      });
      expect(await conversation.send("Hi").text()).toBe("Hello from here.");
    });
  });

  it("does so while its reader leaves: nothing is asked again, and nothing listens to the signal", async () => {
    const leaving = new AbortController();
    const [add, remove] = [
      vi.spyOn(leaving.signal, "addEventListener"),
      vi.spyOn(leaving.signal, "removeEventListener"),
    ];
    let tries = 0;
    const fetch: Send = async () => {
      if (++tries === 3) leaving.abort(new Error("left"));
      return new Response("", { status: 503 });
    };
    const client = createClient(ORIGIN, { fetch, retryMs: () => 1 });
    await expect(client.conversation("c").send("Hi", leaving).text()).rejects.toThrow("left");
    // sindresorhus/p-retry#71
    expect([tries, add.mock.calls.length, remove.mock.calls.length]).toEqual([3, 2, 2]);
  });

  it("while another turn runs: the client fails, and shows nothing of the other turn", async () => {
    const { options } = speaking([hello, [text("Other."), finish()]]);
    await withRuntime(options, async (own) => {
      const { send } = breaking(own, [{ how: "ends", frames: 3 }]);
      const retryMs = () => 1;
      let isOther = false;
      const fetch: Send = async (url, init) => {
        if (init.method === "GET" && !isOther) {
          isOther = true;
          await clientOf(own).conversation("c").send("Other?").text();
        }
        return send(url, init);
      };
      const turn = createClient(ORIGIN, { fetch, retryMs }).conversation("c").send("Hi");
      const told: string[] = [];
      const reading = (async () => {
        for await (const chunk of turn) told.push(JSON.stringify(chunk));
      })();
      expect(await failureOf(reading)).toMatchObject({ code: "turn_gone" });
      expect(told.join()).not.toContain("Other");
    });
  });
});

it("events are read from any event on, over as many connections as needed", async () => {
  await withRuntime(speaking([hello]).options, async (own) => {
    const { variables } = clientOf(own).conversation("c");
    for (const name of ["a", "b", "c", "d"]) await variables.put(name, 1);
    let tries = 0;
    const fetch: Send = async (url, init) => {
      const response = await sendTo(own)(url, init);
      if (++tries > 1) return response;
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let had = "";
      while (!had.includes("id: 3")) had += (await reader?.read())?.value ?? "";
      void reader?.cancel();
      return cutOff(had, { frames: 3, how: "ends" });
    };
    const names: (string | undefined)[] = [];
    const conversation = clientOf(own, { fetch }).conversation("c");
    for await (const { id, variable } of conversation.events({ after: 1 })) {
      names.push(variable?.name);
      if (id === 3) void variables.put("e", 1);
      if (variable?.name === "e") break;
    }
    expect([names, tries]).toEqual([["b", "c", "d", "e"], 2]);
  });
});
