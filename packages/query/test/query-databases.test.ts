import { describe, expect, it } from "vitest";
import { nodeQueryEngine } from "../../adapters/src/agent/node-query-engine.ts";
import { codeOf } from "../../../src/errors.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import type { Write } from "../../../src/store/variable-store.ts";
import { type Authority, QueryDatabases } from "../src/query-databases.ts";
import type { QueryEngine } from "../src/query-engine.ts";
import { runQuery } from "../src/run-query.ts";
import { usable } from "../../../src/tool/variables/variable-target.ts";
import { accessTo, engineQuery } from "./queries.ts";

const SEALED = { visibility: "sealed" } as const;
const UNTRUSTED = { sources: ["tool:web"], trusted: false } as const;

/** A store whose databases can be looked into. */
class Walled {
  readonly store = new MemoryStore();
  readonly #engines = new Map<Authority, QueryEngine>();
  /** Everything that was written into the databases, with its database. */
  readonly written: (readonly [Authority, string])[] = [];
  readonly #keys: string[] = [];
  /** Awaited before rows are written. */
  onAdd: () => Promise<void> = () => Promise.resolve();
  databases = this.open();

  /** A new process: it knows nothing of what is in the databases. */
  open(): QueryDatabases {
    const databases = new QueryDatabases((authority) => {
      const engine = this.#engines.get(authority) ?? this.#engine(authority);
      this.#engines.set(authority, engine);
      return engine;
    });
    databases.watch(this.store, () => void databases.clear(["trusted", "visible"]));
    return databases;
  }

  #engine(authority: Authority): QueryEngine {
    const engine: QueryEngine = nodeQueryEngine();
    const { add } = engine;
    engine.add = async (key, chunk) => {
      this.#keys.push(key);
      this.written.push([authority, chunk.json]);
      await this.onAdd();
      return add.call(engine, key, chunk);
    };
    return engine;
  }

  async save(name: string, text: string, labels: Partial<Write> = {}): Promise<void> {
    await this.store.save({ name, value: [{ t: text }], ...labels });
  }

  async records(sql: string, most: Authority = "person"): Promise<string> {
    const table = ({ name }: { readonly name: string }) => usable(this.store, name);
    const access = accessTo(this.store, this.databases, { most, table });
    const { records } = await runQuery(sql, access);
    return records;
  }

  /** The rows that a database has, whatever it was asked for. */
  async content(authority: Authority): Promise<string> {
    const engine = this.#engines.get(authority);
    if (engine === undefined) return "";
    const sql = "SELECT group_concat(json) AS a FROM chunk";
    const answer = await engine.run(engineQuery(sql, { kept: this.#keys }));
    return answer.kind === "done" ? answer.records : "";
  }
}

describe("the databases of a conversation", () => {
  it("have only what their readers may have, and a query touches the smallest that has its tables", async () => {
    const walled = new Walled();
    await walled.save("good", "aaa");
    await walled.save("mail", "bbb", UNTRUSTED);
    await walled.save("composed", "ccc", { flags: ["composed"] });
    await walled.save("sealed", "ddd", SEALED);
    await walled.save("secret", "eee", { visibility: "secret" });
    await walled.records("SELECT * FROM good");
    expect(walled.written).toEqual([["trusted", '[["aaa"]]']]);
    await walled.records("SELECT * FROM mail, good");
    await walled.records("SELECT * FROM composed");
    await walled.records("SELECT * FROM sealed, mail, good");
    const refused = walled.records("SELECT * FROM secret, good").catch((error: unknown) => error);
    expect(codeOf(await refused)).toBe("variable_secret");
    const of = (authority: Authority) =>
      new Set(walled.written.flatMap(([one, json]) => (one === authority ? json : [])));
    expect(of("trusted")).toEqual(new Set(['[["aaa"]]']));
    expect(of("visible")).toEqual(new Set(['[["aaa"]]', '[["bbb"]]', '[["ccc"]]']));
    expect(of("person")).toEqual(new Set(['[["aaa"]]', '[["bbb"]]', '[["ddd"]]']));
  });

  it("have nothing beside the tables of a statement whose labels could be others", async () => {
    const walled = new Walled();
    await walled.save("one", "aaa");
    await walled.save("two", "bbb");
    await walled.save("mail", "ccc", UNTRUSTED);
    await walled.save("post", "ddd", UNTRUSTED);
    for (const name of ["one", "two", "mail", "post"])
      await walled.records(`SELECT * FROM ${name}`);
    expect(await walled.content("trusted")).toMatch(/aaa.*bbb/);
    expect(await walled.content("visible")).toContain("ddd");
    expect(await walled.content("visible")).not.toContain("ccc");
  });

  it.each([
    ["sealed", SEALED],
    ["secret", { visibility: "secret" }],
    ["untrusted", UNTRUSTED],
  ] as const)("lose the copies of a value as soon as its variable is %s", async (_, labels) => {
    const walled = new Walled();
    await walled.save("v", "aaa");
    await walled.records("SELECT * FROM v");
    await walled.save("v", "new", labels);
    expect(await walled.content("trusted")).not.toContain("aaa");
  });

  it("show no copy to a statement after a crash between sealing and deleting", async () => {
    const walled = new Walled();
    await walled.save("v", "aaa");
    await walled.save("w", "bbb");
    await walled.records("SELECT * FROM v, w");
    // The process ends before it deletes anything.
    walled.databases.clear = () => Promise.resolve();
    await walled.save("v", "new", SEALED);
    expect(await walled.content("trusted")).toContain("aaa");
    walled.databases = walled.open();
    await walled.records("SELECT * FROM w");
    expect(await walled.content("trusted")).not.toContain("aaa");
  });

  it("take no rows of a variable that is sealed while it is loaded", async () => {
    const walled = new Walled();
    const rows = Array.from({ length: 40 }, (_, at) => ({ at, t: "a".repeat(100_000) }));
    await walled.store.save({ name: "v", value: rows });
    let adds = 0;
    walled.onAdd = async () => {
      if (++adds === 2) await walled.save("v", "new", SEALED);
    };
    const failed = walled
      .records("SELECT count(*) FROM v", "visible")
      .catch((error: unknown) => error);
    expect(codeOf(await failed)).toBe("conflict");
    expect(adds).toBe(2);
    expect(await walled.content("trusted")).toBe('[{"a":null}]');
  });

  it("refuse a result that a variable was in that is sealed meanwhile", async () => {
    const walled = new Walled();
    await walled.save("v", "aaa");
    await walled.save("w", "bbb");
    await walled.records("SELECT * FROM v");
    // Between the statement, which could have read $v, and its result.
    walled.onAdd = () => walled.save("v", "new", SEALED);
    expect(await walled.records("SELECT * FROM w")).toBe('[{"t":"bbb"}]');
    expect(await walled.content("trusted")).not.toContain("aaa");
  });

  it("answer queries that are made at the same time", async () => {
    const walled = new Walled();
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) await walled.save(name, name, UNTRUSTED);
    const answers = names.map((name) => walled.records(`SELECT t FROM ${name}`));
    expect(await Promise.all(answers)).toEqual(names.map((name) => `[{"t":"${name}"}]`));
  });
});
