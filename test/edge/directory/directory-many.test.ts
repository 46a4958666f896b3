import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import type { DirectoryPlace } from "../../../src/edge/directory/directory.ts";
import * as limits from "../../../src/limits.ts";
import { directoryOf, newTenant } from "../../support/directory.ts";
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
    expect(many).toBeLessThan(2.1 * limits.maxSearchedTitles);
    expect((await directory.list({ limit: 1, search: "köln", before: last })).entries).toHaveLength(
      1,
    );
  },
);
