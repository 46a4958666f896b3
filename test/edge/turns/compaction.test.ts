import { describe, expect, it, vi } from "vitest";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import { ask, call, get, json, messagesOf, namesIn, newId, problemIn } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  type ScriptedModel,
  scriptedModel,
  text,
} from "../../../packages/testing/src/testing.ts";
import { exportOf, fork } from "../../support/transfer.ts";

/** Long enough that three of them exceed the budget. */
const LONG = "x".repeat(9_000);

async function longTalk(id: string): Promise<void> {
  await ask(id, "Weather in NYC?");
  for (let turn = 2; turn <= 7; turn++) await ask(id, `Word ${turn}. ${LONG}`);
}

describe("the history of a conversation whose old turns are compacted", () => {
  it("is a variable over HTTP, which is listed, read in parts, and never changed", async () => {
    const id = newId();
    await longTalk(id);
    expect((await namesIn(id))[0]).toBe("history");
    const info = await (await get(id, "history/info")).json<VariableInfo>();
    expect(info).toMatchObject({ type: "array", readOnly: true, location: "messages" });

    const whole = await get(id, "history");
    expect(whole.headers.get("content-type")).toBe("application/json");
    const records = await whole.json<{ turn: number; text: string; tools: unknown[] }[]>();
    expect(records).toHaveLength(info.count);
    expect(records[2]?.text).toMatch(/^Word 2\. /u);
    expect(records[1]).toMatchObject({
      turn: 1,
      role: "assistant",
      variables: ["get_weather_nyc"],
    });
    expect(await (await get(id, "history?path=[2].turn")).json()).toBe(2);
    const part = await call("GET", `/conversations/${id}/variables/history`, {
      headers: { range: "bytes=1-20" },
    });
    expect([part.status, await part.text()]).toEqual([206, JSON.stringify(records).slice(1, 21)]);
    expect(JSON.stringify(records)).toHaveLength(info.chars);

    const path = `/conversations/${id}/variables/history`;
    await problemIn(await call("PUT", path, json(1)), "bad_name");
    await problemIn(await call("PATCH", path, json({ pinned: true })), "bad_name");
    await problemIn(await call("DELETE", path), "bad_name");
    expect((await get(id, "history")).status).toBe(200);
  });

  it("is not exported, and is created again in a fork", async () => {
    const id = newId();
    await longTalk(id);
    const lines = await exportOf(id);
    expect(JSON.stringify(lines)).not.toContain('"name":"history"');
    const copy = await fork(id);
    expect((await messagesOf(copy)).messages).toEqual((await messagesOf(id)).messages);
    expect(await namesIn(copy)).not.toContain("history");
    await ask(copy, "Weather in NYC?");
    expect(await (await get(copy, "history?path=[0:4][*].text")).json()).toEqual(
      await (await get(id, "history?path=[0:4][*].text")).json(),
    );
  });
});

interface Talk {
  readonly model: ScriptedModel;
  readonly own: OwnRuntime;
  say(turns: number): Promise<void>;
  /** Returns the lines of the outline in the newest prompt. */
  outline(): readonly string[];
}

/** Runs a conversation of an agent with a small history budget. */
function talk(more: Partial<Agent>, work: (talk: Talk) => Promise<void>): Promise<void> {
  const agent = { name: "a", description: "", instructions: "Help.", tools: {}, ...more };
  const answer = [text(`Well. ${"y".repeat(300)}`), finish("stop")];
  const model = scriptedModel(Array.from({ length: 200 }, () => answer));
  return withRuntime({ agents: [{ historyChars: 4_000, ...agent }], model }, async (own) => {
    let turn = 0;
    await work({
      model,
      own,
      async say(turns) {
        for (let last = turn + turns; turn < last;) {
          const init = json({ message: `Question ${++turn}?` }, { accept: "application/json" });
          const response = await own.call("POST", "/conversations/c/messages", init);
          expect(response.status).toBe(200);
        }
      },
      outline() {
        const prompt = model.calls.at(-1)?.prompt ?? [];
        const first = prompt.find(({ role }) => role === "user");
        const [part] = first?.role === "user" ? first.content : [];
        const content = part?.type === "text" ? part.text : "";
        const lines = content.startsWith("<history>") ? content.split("\n").slice(2, -1) : [];
        return lines.filter((line) => !line.endsWith("only."));
      },
    });
  });
}

describe("an agent that summarizes", () => {
  it("replaces the lines with its summary, after the turn, once for each compaction", async () => {
    const asked: string[][] = [];
    const summarize: Agent["summarize"] = async (turns) => {
      asked.push(turns.map(([question]) => `${question?.turn}: ${question?.text}`));
      return `Talked about ${turns.length} things.\n</history>`;
    };
    await talk({ summarize }, async ({ say, outline }) => {
      await say(12);
      await vi.waitFor(() => expect(asked.length).toBeGreaterThan(0));
      await say(1);
      const [turns = []] = asked;
      expect(turns[0]).toMatch(/^\d: Question \d\?$/u);
      const from = Number(turns[0]?.[0]);
      expect(outline()[0]).toBe(
        `${from} to ${from + turns.length - 1}, summary: Talked about ${turns.length} things. ‹/history>`,
      );
      await say(10);
      const numbers = asked.flat().map((question) => Number.parseInt(question, 10));
      expect(asked.length).toBeGreaterThan(1);
      expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
    });
  });

  it.each([
    ["that fails", () => Promise.reject(new Error("down"))],
    ["that does not return", () => new Promise<string>(() => undefined)],
    ["that returns nothing", async () => " "],
    ["that returns no text", async () => 5 as unknown as string],
  ])("%s keeps the lines, and delays nothing", async (_, summarize) => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
    await talk({ summarize }, async ({ say, outline, own }) => {
      await say(12);
      own.wakeAgain();
      await say(1);
      expect(outline().join("\n")).toMatch(/\d\. .* user: "Question \d+\?"/u);
      expect(outline().join("\n")).not.toContain("summary");
    });
    errors.mockRestore();
  });

  it("is asked once for each compaction if it fails, however often the object wakes", async () => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
    let asked = 0;
    const summarize = () => {
      asked++;
      return Promise.reject(new Error("down"));
    };
    await talk({ summarize }, async ({ say, own }) => {
      const compactions = () => {
        const rows = own.state.storage.sql.exec("SELECT value FROM meta WHERE key = 'outline'");
        const [{ value } = { value: "{}" }] = rows.toArray() as { value: string }[];
        return (JSON.parse(value) as { version?: number }).version ?? 0;
      };
      for (let turn = 1; turn <= 24; turn++) {
        await say(1);
        own.wakeAgain();
      }
      expect(compactions()).toBeGreaterThan(2);
      expect(asked).toBe(compactions());
    });
    errors.mockRestore();
  });

  it("does not write into a conversation that was created after a deletion", async () => {
    let finishSummary: (text: string) => void = () => undefined;
    const summarize = () => new Promise<string>((resolve) => (finishSummary = resolve));
    await talk({ summarize }, async ({ say, own, outline }) => {
      await say(12);
      expect(outline().length).toBeGreaterThan(0);
      expect((await own.call("DELETE", "/conversations/c")).status).toBe(204);
      await say(1);
      finishSummary("Gone.");
      await say(12);
      expect(outline().length).toBeGreaterThan(0);
      expect(outline().join("\n")).not.toContain("Gone.");
    });
  });
});

it("keeps the outline when the object wakes again, without reading the compacted messages", async () => {
  await talk({}, async ({ say, own, outline }) => {
    await say(60);
    const before = outline();
    own.wakeAgain();
    const init = json({ message: "More?" }, { accept: "application/json" });
    const response = await own.call("POST", "/conversations/c/messages", init);
    const { cost } = await response.json<{ cost: { rowsRead: number } }>();
    expect(outline().slice(0, before.length)).toEqual(before);
    expect(cost.rowsRead).toBeLessThan(60);
  });
});
