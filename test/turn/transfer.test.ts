import { describe, expect, it } from "vitest";
import { migrate } from "../../src/store/rows/migrations.ts";
import { type ConversationEvent, EventLog } from "../../src/turn/log/event-log.ts";
import { NodeSql } from "../support/node-sql.ts";
import { emptyHistory, userMessage } from "../support/turn.ts";

function emptyLog(onFlush = () => {}): EventLog {
  const sql = new NodeSql();
  migrate(sql);
  return new EventLog(sql, { now: () => 5, onFlush });
}

function event(id: number): ConversationEvent {
  return { id, at: "2026-01-01T00:00:00.000Z", type: "turn.done", turn: "t" };
}

const ids = (count: number, first = 1) => Array.from({ length: count }, (_, at) => first + at);

describe("events of another log", () => {
  it("are stored with their ids and times, which continue after them, and nobody is notified", () => {
    const log = emptyLog(() => {
      throw new Error("told");
    });
    const events = ids(1_200, 40).map(event);
    log.restore(events.slice(0, 600));
    log.restore([]);
    log.restore(events.slice(600));
    expect(log.list({ after: 0, limit: 2_000 })).toEqual({ events });
    expect([log.newestId, log.lastActiveMs]).toEqual([1_239, 5]);
  });

  it("are refused with gaps or duplicates", () => {
    const log = emptyLog();
    log.restore([event(3), event(4)]);
    const refused = expect.objectContaining({ code: "bad_value" });
    for (const wrong of [[event(6)], [event(4)], [event(5), event(7)]]) {
      expect(() => log.restore(wrong)).toThrow(refused);
    }
    log.add({ type: "turn.done" });
    expect(log.newestId).toBe(5);
  });
});

it("messages read one by one are all returned, oldest first", () => {
  const history = emptyHistory();
  expect([history.following(0), history.lastSeq()]).toEqual([undefined, 0]);
  const messages = ["a", "b", "c"].map((id) => userMessage(id, id));
  for (const message of messages) history.add(message);
  const found = [];
  for (let one = history.following(0); one !== undefined; one = history.following(one.seq)) {
    found.push(one.message);
    expect(one.seq).toBeLessThanOrEqual(history.lastSeq());
  }
  expect(found).toEqual(messages);
});
