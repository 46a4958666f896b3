import { describe, expect, it, vi } from "vitest";
import type { Agent } from "../../../src/turn/agent.ts";
import { json, problemIn, textOf } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { finish, type Script, scriptedModel, type Step, text } from "byref/testing";
import { slow } from "../../support/slow.ts";
import { chunksIn, textIn } from "../../support/turn-client.ts";

const agent: Agent = { name: "a", description: "", instructions: "", tools: {} };
const says = (words: string): Step => [text(words), finish()];
const fails: Step = () => {
  throw new Error("It is down.");
};
const options = (steps: readonly Step[], about: Partial<Agent> = {}) => {
  const model = scriptedModel(steps);
  return { model, agents: [{ ...agent, ...about }] as const };
};

const question = (id: string, words: string) => ({
  id,
  role: "user",
  parts: [{ type: "text", text: words }],
});

const post = (own: OwnRuntime, message: object, headers: Record<string, string> = {}) =>
  own.call("POST", "/conversations", json({ id: "c", messages: [message] }, headers));
const textFrom = async (response: Response) => textIn(chunksIn(await response.text()));
const countOf = (own: OwnRuntime) =>
  own.conversation().readMessages({ limit: 10, form: "display" }).messages.length;

/** A step that waits until the test opens its gate. */
function gated(words: string) {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const step = async (): Promise<Script> => {
    begun.resolve();
    await gate.promise;
    return [text(words), finish()];
  };
  return { step, begun: begun.promise, open: () => gate.resolve() };
}

describe("the same message posted again", () => {
  it("is one turn, even a hundred times at once", async () => {
    const gate = gated("One.");
    const setup = options([gate.step, says("Two.")]);
    await withRuntime(setup, async (own) => {
      const posts = Array.from({ length: 100 }, () => post(own, question("q", "Hi.")));
      const responses = await Promise.all(posts);
      gate.open();
      const texts = await Promise.all(responses.map((response) => response.text()));
      expect([new Set(texts).size, textIn(chunksIn(texts[0] ?? ""))]).toEqual([1, "One."]);
      expect(setup.model.calls).toHaveLength(1);
      expect(countOf(own)).toBe(2);
    });
  });

  it("gets the same answer in each format, even after an eviction", slow, async () => {
    const setup = options([says("One."), says("Two.")]);
    await withRuntime(setup, async (own) => {
      const first = await (await post(own, question("q", "Hi."))).text();
      own.wakeAgain();
      expect(await (await post(own, question("q", "Hi."))).text()).toBe(first);
      const plain = await post(own, question("q", "Hi."), { accept: "text/plain" });
      expect(await plain.text()).toBe("One.");
      const whole = await post(own, question("q", "Hi."), { accept: "application/json" });
      const { message, cost } = await whole.json<{ message: never; cost: object }>();
      expect(textOf(message)).toBe("One.");
      expect(cost).toMatchObject({ alarms: expect.any(Number) });
      expect(setup.model.calls).toHaveLength(1);
    });
  });

  it("is another turn with other parts, after an error, and after a stop", slow, async () => {
    const gate = gated("Never.");
    const setup = options([says("One."), fails, says("Two."), gate.step, says("Three.")]);
    await withRuntime(setup, async (own) => {
      await (await post(own, question("q", "Hi."))).text();
      expect(await textFrom(await post(own, question("q", "Ho.")))).toBe("");
      expect(await textFrom(await post(own, question("q", "Ho.")))).toBe("Two.");
      const stopped = await post(own, question("r", "Hi."));
      await gate.begun;
      own.conversation().stop();
      gate.open();
      await stopped.text();
      expect(await textFrom(await post(own, question("r", "Hi.")))).toBe("Three.");
    });
  });
});

describe("an Idempotency-Key", () => {
  const short = (own: OwnRuntime, message: string, about: Record<string, string>) => {
    const { key = "", accept = "application/json" } = about;
    const init = json({ message }, { "idempotency-key": key, accept });
    return own.call("POST", "/conversations/c/messages", init);
  };
  const answer = async (response: Response) =>
    textOf((await response.json<{ message: never }>()).message);

  it("shows a turn that was stopped as such, after another one", async () => {
    const gate = gated("Never.");
    await withRuntime(options([gate.step, says("Two.")]), async (own) => {
      const about = { key: "k", accept: "text/event-stream" };
      const stopped = await short(own, "Hi.", about);
      await gate.begun;
      own.conversation().stop();
      gate.open();
      await stopped.text();
      await (await short(own, "Ho.", { key: "l" })).text();
      const chunks = chunksIn(await (await short(own, "Hi.", about)).text());
      expect(chunks.at(-1)).toEqual({ type: "abort" });
    });
  });

  it("makes two posts one turn for 24 hours, whatever happens in between", async () => {
    const setup = options([says("One."), says("Two."), says("Three.")]);
    await withRuntime(setup, async (own) => {
      const [first, second] = await Promise.all([
        short(own, "Hi.", { key: "k" }),
        short(own, "Hi.", { key: "k" }),
      ]);
      expect(await answer(first)).toBe("One.");
      expect(await answer(second)).toBe("One.");
      expect(await answer(await short(own, "Ho.", { key: "l" }))).toBe("Two.");
      own.wakeAgain();
      expect(await answer(await short(own, "Hi.", { key: "k" }))).toBe("One.");
      const stream = await short(own, "Hi.", { key: "k", accept: "text/event-stream" });
      expect(await textFrom(stream)).toBe("One.");
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
      expect(await answer(await short(own, "Hi.", { key: "k" }))).toBe("Three.");
    });
  });

  it("is refused with another body, or if it is invalid", async () => {
    await withRuntime(options([says("One.")]), async (own) => {
      await (await short(own, "Hi.", { key: "k" })).text();
      const other = await short(own, "Ho.", { key: "k" });
      await problemIn(other, "idempotency_mismatch");
      const long = await short(own, "Hi.", { key: "k".repeat(256) });
      await problemIn(long, "bad_request");
    });
  });
});

describe("a message that comes while a turn runs", () => {
  const two = async (own: OwnRuntime, begun: Promise<void>) => {
    const first = await post(own, question("q", "Hi."));
    await begun;
    return { first, second: await post(own, question("r", "Ho.")) };
  };

  it("is refused if eight wait already, and those are answered in order", async () => {
    const words = Array.from({ length: 20 }, (_, index) => `${index}.`);
    const gate = gated("0.");
    await withRuntime(options([gate.step, ...words.slice(1).map(says)]), async (own) => {
      const posts = words.map((word, index) => post(own, question(`q${index}`, word)));
      const responses = await Promise.all(posts);
      gate.open();
      for (const refused of responses.splice(9)) await problemIn(refused, "rate_limited");
      expect(await Promise.all(responses.map(textFrom))).toEqual(words.slice(0, 9));
    });
  });

  it("is answered in the order of arrival, whatever its digest takes", async () => {
    const digest = vi.spyOn(crypto.subtle, "digest").mockImplementationOnce(async (...given) => {
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve));
      return crypto.subtle.digest(...given);
    });
    await withRuntime(options([says("One."), says("Two.")]), async (own) => {
      const posts = [post(own, question("q", "Hi.")), post(own, question("r", "Ho."))];
      const responses = await Promise.all(posts);
      expect(await Promise.all(responses.map(textFrom))).toEqual(["One.", "Two."]);
    });
    expect(digest).toHaveBeenCalled();
  });

  it("is refused if the agent says so", async () => {
    const gate = gated("One.");
    const setup = options([gate.step, says("Two.")], { whenBusy: "reject" });
    await withRuntime(setup, async (own) => {
      const { first, second } = await two(own, gate.begun);
      await problemIn(second, "conflict");
      gate.open();
      expect(await textFrom(first)).toBe("One.");
      expect(await textFrom(await post(own, question("r", "Ho.")))).toBe("Two.");
    });
  });

  it("stops the turn if the agent says so, and is answered", async () => {
    const gate = gated("One.");
    const setup = options([gate.step, says("Two.")], { whenBusy: "interrupt" });
    await withRuntime(setup, async (own) => {
      const { first, second } = await two(own, gate.begun);
      expect(await textFrom(second)).toBe("Two.");
      expect(chunksIn(await first.text()).at(-1)).toMatchObject({ type: "abort" });
      gate.open();
    });
  });
});
