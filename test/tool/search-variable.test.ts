import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePath } from "../../src/reference/grammar.ts";
import { bytesContent } from "../../src/store/bytes/content.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { Json } from "../../src/value/json.ts";
import { CountedSql, MIB } from "../contract/store-fixture.ts";
import { charsOf, stores, Tools } from "../support/runtime-tool-context.ts";
import { slow } from "../support/slow.ts";
import { Matcher, searchVariable } from "../../src/tool/variables/search-variable.ts";

interface Found {
  readonly matches: readonly { readonly reference: string; readonly excerpt: string }[];
  readonly total?: number;
  readonly found?: number;
  readonly stopped?: string;
  readonly more?: string;
  readonly next?: Readonly<Record<string, Json>>;
}

async function search(tools: Tools, input: Readonly<Record<string, Json>>): Promise<Found> {
  const fields = await tools.fields("search_variable", { name: "v", ...input });
  expect(charsOf(fields)).toBeLessThanOrEqual(8_000);
  return fields as unknown as Found;
}

async function toolsWith(value: Json, options = {}) {
  const store = new MemoryStore();
  await store.save({ name: "v", value });
  return new Tools(store, options);
}

function referencesIn({ matches }: Found): readonly string[] {
  return matches.map(({ reference }) => reference);
}

/** Returns the value of a reported reference. */
async function valueAt(tools: Tools, reference: string): Promise<Json> {
  const path = parsePath(reference.slice("$v".length));
  const reading = path === undefined ? undefined : await tools.store.readPath("v", path);
  if (reading?.found !== true) throw new Error(`${reference} leads nowhere.`);
  return reading.value;
}

/** Returns the references of all calls, following `next`. */
async function allOf(tools: Tools, input: Readonly<Record<string, Json>>) {
  const references: string[] = [];
  for (let next: typeof input | undefined = input; next !== undefined;) {
    const found = await search(tools, next);
    references.push(...referencesIn(found));
    next = found.next;
  }
  return references;
}

describe.each(stores)("search_variable on $title", ({ open }) => {
  it("finds strings, keys and numbers in any case, with context", async () => {
    const tools = new Tools(open());
    const value = [
      { name: "Ada", born: 1815 },
      { name: `${"x".repeat(300)}ada${"y".repeat(300)}`, "is ada?": [true] },
    ];
    await tools.store.save({ name: "v", value });
    const found = await search(tools, { query: "ADA" });
    expect(found.total).toBe(3);
    expect(found.next).toBeUndefined();
    expect(referencesIn(found)).toEqual(["$v[0].name", "$v[1].name", '$v[1]["is ada?"]']);
    expect(found.matches[1]?.excerpt).toMatch(/^…x{40}aday{100}…$/);
    expect(referencesIn(await search(tools, { query: "181" }))).toEqual(["$v[0].born"]);
  });

  it("searches only below a path, even one with [*]", async () => {
    const tools = new Tools(open());
    const rows = [{ a: "key", b: "key" }, { b: "key" }, { a: "key" }];
    await tools.store.save({ name: "v", value: { rows } });
    const paths = async (path: string) => referencesIn(await search(tools, { query: "key", path }));
    expect(await paths(".rows[*].a")).toEqual(["$v.rows[0].a", "$v.rows[2].a"]);
    expect(await paths(".rows[1:]")).toEqual(["$v.rows[1:][0].b", "$v.rows[1:][1].a"]);
    expect(await paths(".rows[0].b")).toEqual(["$v.rows[0].b[0:3]"]);
    await tools.store.save({ name: "v", value: rows });
    expect(await paths("[1:][*].a")).toEqual(["$v[2].a"]);
    await tools.store.save({ name: "v", value: [{ c: [{ a: "x" }, { a: "key" }] }, { c: [] }] });
    expect(await paths("[*].c")).toEqual(["$v[0].c[1].a"]);
    expect(await paths("[*].c[*].a")).toEqual(["$v[0].c[1].a"]);
    await expect(paths(".nothing")).rejects.toMatchObject({ code: "path_not_found" });
  });

  it("finds lines in a text, as slices that contain the match", async () => {
    const tools = new Tools(open());
    const text = "😀 first\nerror: one\nfine\nerror: two\n";
    await tools.store.save({ name: "v", value: text });
    const found = await search(tools, { query: "ERROR: " });
    expect(found.matches).toEqual([
      { reference: "$v[8:18]", excerpt: "error: one" },
      { reference: "$v[24:34]", excerpt: "error: two" },
    ]);
    expect(await valueAt(tools, "$v[24:34]")).toBe("error: two");
  });

  it("finds each match of a text once, with what surrounds it, wherever its slices end", async () => {
    const tools = new Tools(open());
    const word = "😀 needle";
    for (const before of [261_100, 261_119, 261_120, 261_121, 262_136, 262_144]) {
      const text = `${"x".repeat(before)}${word}${"y".repeat(300_000)}`;
      await tools.store.save({ name: "v", value: text });
      const { matches, total } = await search(tools, { query: word });
      expect([before, total, matches[0]?.excerpt]).toEqual([
        before,
        1,
        `…${"x".repeat(40)}${word}${"y".repeat(100)}…`,
      ]);
      const [{ reference = "" } = {}] = matches;
      expect(`…${String(await valueAt(tools, reference))}…`).toBe(matches[0]?.excerpt);
    }
  });

  it("shows at most top_k matches, counts all, and says how to continue", async () => {
    const tools = new Tools(open());
    const value = Array.from({ length: 95 }, (_, id) => ({ id, note: `hit ${id}` }));
    await tools.store.save({ name: "v", value });
    const found = await search(tools, { query: "hit" });
    expect([found.matches.length, found.total]).toEqual([10, 95]);
    expect(found.next).toEqual({ name: "v", query: "hit", offset: 10 });
    const all = value.map(({ id }) => `$v[${id}].note`);
    expect(await allOf(tools, { query: "hit" })).toEqual(all);
    expect(await allOf(tools, { query: "hit", top_k: 50 })).toEqual(all);
    await tools.store.save({ name: "v", value: "a hit\n".repeat(95) });
    expect(await allOf(tools, { query: "hit" })).toHaveLength(95);
    await tools.store.save({ name: "v", value: [value, "hit"] });
    const nested = await search(tools, { query: "hit" });
    expect(nested).toMatchObject({ total: 96, more: expect.stringContaining("$v[0] has 85 more") });
    expect(referencesIn(await search(tools, nested.next ?? {}))).toEqual(["$v[1]"]);
  });

  it("refuses guarded variables, bytes and empty queries", async () => {
    const store = open();
    await store.save({ name: "key", value: "s3cr3t", visibility: "secret" });
    await store.save({ name: "seal", value: "s3cr3t", visibility: "sealed" });
    await store.save({ name: "image", value: bytesContent(new Uint8Array(3), "image/png") });
    await store.save({ name: "v", value: "mail", trusted: false });
    const tools = new Tools(store);
    const refused = async (name: string, code: string) =>
      expect(tools.call("search_variable", { name, query: "s3cr3t" })).rejects.toMatchObject({
        code,
      });
    await refused("key", "variable_secret");
    await refused("seal", "variable_sealed");
    await refused("image", "bad_value");
    await refused("nothing", "variable_not_found");
    for (const query of ["", "a".repeat(201)]) {
      await expect(search(tools, { query })).rejects.toMatchObject({ code: "invalid_tool_input" });
    }
    expect(await tools.call("search_variable", { name: "v", query: "zzz" })).toMatchObject({
      untrusted: true,
      output: { total: 0 },
    });
  });
});

it("a match is where its reference points, whatever the keys are", async () => {
  const text = fc.string({ unit: fc.constantFrom("a", "B", ".", '"', "\\", "'", "\n", "😀", "]") });
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      text,
      fc.integer(),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(text, tie("value"), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(value, async (value) => {
      const copy = JSON.parse(JSON.stringify(value)) as Json;
      const tools = await toolsWith(copy);
      for (const query of ["ab", "😀"]) {
        const { matches } = await search(tools, { query, top_k: 50 });
        for (const { reference } of matches) {
          const there = await valueAt(tools, reference);
          const key = reference.replaceAll(/\\(.)/g, "$1");
          const isInside = (text: string) => text.toLowerCase().includes(query);
          const written = JSON.stringify(there, null, 1).replaceAll(/\\(["\\])/g, "$1");
          expect(isInside(written) || isInside(key), reference).toBe(true);
        }
      }
    }),
    { numRuns: 300 },
  );
});

describe("the cost of a search", () => {
  it("is limited: it stops, and can continue where it stopped", slow, async () => {
    const rows = Array.from(
      { length: 500 },
      (_, id) => `${"x".repeat(1_000)}${id % 100 === 0 ? "!" : ""}`,
    );
    const tools = await toolsWith(rows, { tools: [searchVariable(200_000)] });
    const first = await search(tools, { query: "!" });
    expect(first.stopped).toContain("before");
    expect(first.found).toBeLessThan(5);
    const all = [0, 100, 200, 300, 400].map((id) => `$v[${id}]`);
    expect(await allOf(tools, { query: "!" })).toEqual(all);
    const inText = await toolsWith(rows.join("\n"), { tools: [searchVariable(200_000)] });
    expect(await allOf(inText, { query: "!" })).toHaveLength(5);
    const oneLine = await toolsWith(`${rows.join("")}${"y".repeat(600_000)}!`);
    expect(await allOf(oneLine, { query: "!" })).toHaveLength(6);
  });

  it.each<[string, Json]>([
    ["a text", "some words of a text\n".repeat(1_000_000)],
    ["an array", Array.from({ length: 300 }, (_, n) => `${n} `.repeat(10_000))],
  ])("lets others go on: %s", async (_, value) => {
    const tools = await toolsWith(value);
    let others = 0;
    const timer = setInterval(() => others++, 0);
    await search(tools, { query: "zzz" });
    clearInterval(timer);
    expect(others).toBeGreaterThan(2);
  });

  it("in memory is small: records and text are read slice by slice", slow, async () => {
    const sql = new CountedSql();
    migrate(sql);
    const store = new SqlStore(sql, {});
    const lines = Array.from(
      { length: 20_000 },
      (_, id) => `{"id":${id},"text":"${"x".repeat(1_000)}"}\n`,
    );
    const stream = new Blob(lines).stream();
    await store.save({ name: "v", value: await store.receive(stream, "application/x-ndjson") });
    // The variable is too large to read whole.
    await expect(async () => store.read("v")).rejects.toMatchObject({ code: "limit_exceeded" });
    const tools = new Tools(store);
    expect(await allOf(tools, { query: "19998" })).toEqual(["$v[19998].id"]);
    const before = sql.bytesRead;
    expect(await allOf(tools, { query: "19998", offset: 19_990 })).toEqual(["$v[19998].id"]);
    expect(sql.bytesRead - before).toBeLessThan(3 * MIB);
  });
});

it("a query finds no half characters, and the right place after a letter that grows in lower case", () => {
  const find = (query: string, text: string) => {
    const found = new Matcher(query).find(text, 0);
    return found === undefined ? undefined : text.slice(found.start, found.end);
  };
  expect(find("\ud83d", "a😀b")).toBeUndefined();
  expect(find("\ude00", "a😀b")).toBeUndefined();
  // "İ" has two characters in lower case.
  expect(find("weather", "İİ: WEATHER today")).toBe("WEATHER");
});
