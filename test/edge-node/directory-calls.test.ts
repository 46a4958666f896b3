import { beforeEach, expect, it, vi } from "vitest";
import { ConversationIndex, leasesOf } from "../../src/edge/directory/directory-client.ts";
import * as limits from "../../src/limits.ts";
import { NOTHING_SPENT } from "../../src/turn/spend/spend.ts";

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
/** A conversation, and a directory that never answers its first calls. */
function silent(calls: number, jurisdiction?: string) {
  const asked: string[] = [];
  const answer = (what: string, said: unknown) => () => {
    asked.push(what);
    return asked.length <= calls ? new Promise<never>(() => {}) : Promise.resolve(said);
  };
  const directory = {
    put: answer("put", undefined),
    take: answer("take", { upTo: { modelCalls: 1 } }),
    settle: answer("settle", undefined),
  };
  const places: (string | undefined)[] = [];
  const namespaceIn = (where?: string): object => ({
    jurisdiction: namespaceIn,
    idFromName: (name: string) => name,
    get: () => {
      places.push(where);
      return directory;
    },
  });
  const DIRECTORY = namespaceIn();
  const waited: Promise<unknown>[] = [];
  const id = { name: JSON.stringify(["tenant", "c"]), jurisdiction } as DurableObjectId;
  const state = { id, waitUntil: (work: Promise<unknown>) => void waited.push(work) };
  const place = { env: { DIRECTORY }, state };
  const leases = leasesOf(place, { tenant: { modelCalls: 1 } });
  if (leases === undefined) throw new Error("There is a limit.");
  return { asked, leases, place, places, waited };
}

const want = { what: "modelCalls", count: 1, maximum: 1 } as const;
const claim = { key: "k", window: "", spent: NOTHING_SPENT, wants: [want] };

it("a directory that never answers is asked for a lease again, and then the lease is refused", async () => {
  const { asked, leases } = silent(3);
  const refused = expect(leases.take(claim)).rejects.toMatchObject({ code: "unavailable" });
  await vi.advanceTimersByTimeAsync(4 * limits.replyMs);
  await refused;
  expect(asked).toEqual(["take", "take", "take"]);
  const taken = leases.take(claim);
  await vi.advanceTimersByTimeAsync(0);
  expect(await taken).toHaveProperty("upTo");
  expect(vi.getTimerCount()).toBe(0);
});

it("a directory that never answers receives a turn's settlement again", async () => {
  const { asked, leases, waited } = silent(2);
  leases.settle({ key: "k", spent: NOTHING_SPENT });
  await vi.advanceTimersByTimeAsync(5 * limits.replyMs);
  await Promise.all(waited);
  expect(asked).toEqual(["settle", "settle", "settle"]);
});

it("a directory whose object broke is reached through another stub, because the first stays broken", async () => {
  const told: string[] = [];
  let hasBroken = false;
  const newStub = () => {
    let isBroken = false;
    const put = async ({ title }: { readonly title: string }) => {
      isBroken ||= !hasBroken;
      hasBroken = true;
      if (isBroken) throw new Error("Network connection lost.");
      told.push(title);
    };
    return { put };
  };
  const { place } = silent(0);
  const DIRECTORY = { idFromName: (name: string) => name, get: newStub };
  const time = new Date().toISOString();
  const summary = { title: "One", createdAt: time, updatedAt: time };
  const index = new ConversationIndex({
    ...place,
    env: { DIRECTORY },
    data: { summary, bornMs: 0 },
  });
  for (const title of ["Lost", "Two", "Three"]) {
    summary.title = title;
    index.update();
    await vi.advanceTimersByTimeAsync(0);
  }
  expect(told).toEqual(["Two", "Three"]);
});
