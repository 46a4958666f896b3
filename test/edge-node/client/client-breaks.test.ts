import { describe, expect, it, onTestFinished, vi } from "vitest";
import { backOff } from "../../../packages/client/src/client/follow.ts";
import { createClient } from "../../../packages/client/src/client.ts";
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
import { finish, text } from "../../../packages/testing/src/testing.ts";

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
    onTestFinished(() => void vi.useRealTimers());
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
      expect(chunks).toEqual(await all(turn));
      expect(chunks.at(-1)?.type).toBe("finish");
      expect(model.calls).toHaveLength(1);
    });
  });

  it("to a restarting server: the message is sent again", async () => {
    await withRuntime(speaking([hello]).options, async (own) => {
      let tries = 0;
      const problem = { code: "restarting", title: "Later" };
      const fetch: Send = async (url, init) =>
        ++tries < 3 ? Response.json(problem, { status: 503 }) : sendTo(own)(url, init);
      const conversation = clientOf(own, { fetch }).conversation("c");
      expect(await failureOf(conversation.about())).toMatchObject({
        code: "unavailable",
        status: 503,
        message: "Later",
      });
      expect(await conversation.send("Hi").text()).toBe("Hello from here.");
    });
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

describe("events", () => {
  it("are read from any event on, over as many connections as needed", async () => {
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
      expect(names).toEqual(["b", "c", "d", "e"]);
      expect(tries).toBe(2);
    });
  });

  it("10,000 clients that lose a server together do not come back together", () => {
    // Version 0.2.0 waited as long for each of them.
    const before = requestsAfter(10_000, (failures) => Math.min(250 * 2 ** (failures - 1), 4_000));
    const after = requestsAfter(10_000, backOff);
    console.log(`Requests in each second, of 10,000 clients whose server is away for 10 s:
0.2.0: ${before.join(" ")}\nnow: ${after.join(" ")}`);
    const back = after.slice(10);
    expect(back.reduce((sum, count) => sum + count, 0)).toBe(10_000);
    expect(Math.max(...before.slice(10))).toBe(10_000);
    expect(Math.max(...back)).toBeLessThan(2_000);
  });
});

/** Simulates 10,000 clients that lose a server at once. Returns their requests in each second, until all are back. */
function requestsAfter(downMs: number, pauseAfter: (failures: number) => number | undefined) {
  const requests = Array.from({ length: 24 }, () => 0);
  for (let client = 0; client < 10_000; client++) {
    for (let ms = 0, failures = 1; ms < downMs; failures++) {
      ms += pauseAfter(failures) ?? Infinity;
      const second = Math.floor(ms / 1_000);
      requests[second] = (requests[second] ?? 0) + 1;
    }
  }
  return requests;
}
