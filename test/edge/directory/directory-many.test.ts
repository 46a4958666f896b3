import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import type { DirectoryPage, DirectoryPlace } from "../../../src/edge/directory/directory.ts";
import * as limits from "../../../src/limits.ts";
import { createClient } from "../../../packages/client/src/client.ts";
import { directoryOf, eventually, newTenant } from "../../support/directory.ts";
import { json, newId, ORIGIN, problemIn } from "../../support/edge.ts";
import { slow } from "../../support/slow.ts";
import { rowsReadBy } from "../../support/storage.ts";

const DAY_MS = 86_400_000;

/** A tenant's directory with that many entries, one a minute; each tenth is a report of a city. */
async function filled(count: number) {
  const directory = directoryOf(newTenant().name);
  const put = (id: string, title: string | null, updatedMs: number) =>
    directory.put({ id, title, createdMs: 0, updatedMs });
  await put("c-0", "Monthly Report für KÖLN", DAY_MS);
  await runInDurableObject(directory, (_, { storage }) => {
    storage.sql.exec(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
       INSERT INTO entry SELECT 'c-' || i, iif(i % 10 = 0, 'Report ' || i, NULL), 0, ? + i * 60000 FROM n`,
      count,
      DAY_MS,
    );
  });
  return directory;
}

interface Page {
  readonly ids: readonly string[];
  readonly rowsRead: number;
}

async function pagesOf(
  directory: Awaited<ReturnType<typeof filled>>,
  before?: DirectoryPlace,
): Promise<readonly Page[]> {
  let page: DirectoryPage = { entries: [] };
  const rowsRead = await rowsReadBy(directory, async () => {
    page = await directory.list({ limit: 100, before });
  });
  const { entries, next } = page;
  const first = { ids: entries.map(({ id }) => id), rowsRead };
  return next === undefined ? [first] : [first, ...(await pagesOf(directory, next))];
}

it("pages of 10,000 conversations each read as much as those of 300", slow, async () => {
  const most: number[] = [];
  for (const count of [300, 10_000]) {
    const directory = await filled(count);
    const pages = await pagesOf(directory);
    expect(new Set(pages.flatMap(({ ids }) => ids)).size).toBe(count);
    most.push(Math.max(...pages.map(({ rowsRead }) => rowsRead)));
  }
  expect(most[1]).toBe(most[0]);
  expect(most[0]).toBeLessThan(110);
});

it.each([
  ["köln", ["c-0"]],
  ["KÖLN  report", ["c-0"]],
  ["9990", ["c-9990"]],
  ["%", []],
  ["koln", []],
])("a search for %s among 10,000 titles finds them in one page", slow, async (search, expected) => {
  const directory = await filled(limits.maxEntries - 1);
  const { entries, next } = await directory.list({ limit: 100, search });
  expect(entries.map(({ id }) => id)).toEqual(expected);
  expect(next).toBeUndefined();
});

it(
  "a search has pages, and reads only as many titles as it needs, and at most 10,000",
  slow,
  async () => {
    const directory = await filled(12_000);
    const found: string[] = [];
    let before: DirectoryPlace | undefined;
    do {
      const { entries, next } = await directory.list({ limit: 100, before, search: "report" });
      found.push(...entries.map(({ id }) => id));
      before = next;
    } while (before !== undefined);
    expect(found).toHaveLength(1_200);
    expect(new Set(found).size).toBe(1_200);
    let last: DirectoryPlace | undefined;
    const few = await rowsReadBy(directory, () => directory.list({ limit: 1, search: "report" }));
    const many = await rowsReadBy(directory, async () => {
      ({ next: last } = await directory.list({ limit: 1, search: "köln" }));
    });
    expect(few).toBeLessThan(1_100);
    expect(many).toBeLessThan(2.1 * limits.maxEntries);
    expect((await directory.list({ limit: 1, search: "köln", before: last })).entries).toHaveLength(
      1,
    );
  },
);

it("the client lists and searches conversations", async () => {
  const tenant = newTenant();
  const [trip, report] = [newId(), newId()];
  const ask = async (id: string, title: string) => {
    await tenant.put(id, "v");
    await (await tenant.call("PATCH", `/conversations/${id}`, json({ title }))).text();
  };
  await ask(trip, "Trip to Rome");
  await ask(report, "Report of May");
  const client = createClient(ORIGIN, {
    fetch: (url, init) => tenant.call(init.method ?? "GET", url.slice(ORIGIN.length), init),
  });
  await eventually(async () => {
    const { conversations } = await client.conversations({ search: "may REP" });
    expect(conversations).toMatchObject([{ id: report, title: "Report of May", status: "idle" }]);
  });
  expect((await client.conversations()).conversations).toHaveLength(2);
  const { conversations, next } = await client.conversations({ limit: 1 });
  expect(conversations).toHaveLength(1);
  expect((await client.conversations({ before: next })).conversations).toHaveLength(1);
  expect(await client.conversations({ search: "Paris" })).toEqual({ conversations: [] });
  const long = "x".repeat(limits.maxLineChars + 1);
  await problemIn(await tenant.call("GET", `/conversations?search=${long}`), "bad_request");
});
