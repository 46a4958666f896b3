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
import { ORIGIN } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { finish, text } from "byref/testing";

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
