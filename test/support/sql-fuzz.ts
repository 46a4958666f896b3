import type { QueryEngine } from "../../packages/query/src/query-engine.ts";
import { answerTo, leakIn, walled } from "../../packages/query/test/wall.ts";
import { randomFrom } from "./reference-grammar.ts";

/** A statement that shows a model what it must not, and the seed that makes it again. */
interface SqlLeak {
  readonly seed: number;
  readonly sql: string;
  readonly believed: readonly string[];
  readonly leak: string;
  readonly text: string;
}

const TABLES =
  "p1 p2 list u1 s1 k1 chunk real_1 real_2 sqlite_schema sqlite_master pragma_table_list dbstat main.chunk main.s1".split(
    " ",
  );
const COLUMNS = "id t n value json seq key name sql * c0 c1 rowid type path".split(" ");
const ALIASES =
  "a b window over filter rows range groups first last key do query replace temp row current others ties end plan".split(
    " ",
  );
const FUNCTIONS = "json_each json_tree pragma_table_info pragma_table_xinfo".split(" ");
const CALLS =
  "lower hex quote json length group_concat json_group_array max count typeof json_quote".split(
    " ",
  );
const JUNK = "( ) , . ; ' \" ` [ ] -- /* */ $ ? @ AS IN FROM SELECT WITH ON = 1 NULL \u00e9".split(
  " ",
);

type Random = (below: number) => number;

/** Writes a statement that SQLite may or may not accept. */
class SqlWriter {
  readonly #random: Random;
  #depth = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  statement(): string {
    const sql = this.#compound();
    if (this.#random(4) > 0) return sql;
    // Ungrammatical: words are replaced, doubled, swapped or lost.
    const words = sql.split(" ");
    for (let times = this.#random(3); times >= 0; times--) {
      const at = this.#random(words.length);
      words.splice(at, this.#random(3), ...(this.#random(3) > 0 ? [this.#one(JUNK)] : []));
    }
    return words.join(" ");
  }

  #one<Item>(items: readonly Item[]): Item {
    const item = items[this.#random(items.length)];
    if (item === undefined) throw new RangeError("There is nothing to choose from.");
    return item;
  }

  #name(name: string): string {
    const [inner = name, schema] = name.split(".").reverse();
    const quoted = this.#one([
      inner,
      inner,
      inner,
      `"${inner}"`,
      `\`${inner}\``,
      `[${inner}]`,
      `'${inner}'`,
    ]);
    return schema === undefined ? quoted : `${schema}.${quoted}`;
  }

  #compound(): string {
    this.#depth++;
    const parts = Array.from({ length: this.#random(5) === 0 ? 2 : 1 }, () => this.#select());
    const joined = parts.join(` ${this.#one(["UNION", "UNION ALL", "EXCEPT", "INTERSECT"])} `);
    const isDefined = this.#depth < 3 && this.#random(8) === 0;
    const defined = isDefined
      ? `WITH ${this.#name(this.#one([...ALIASES, ...TABLES]))} AS ( ${this.#select()} ) `
      : "";
    this.#depth--;
    return `${defined}${joined}${this.#random(6) === 0 ? " LIMIT 3" : ""}`;
  }

  #select(): string {
    if (this.#random(15) === 0) return `VALUES ( ${this.#expression()} )`;
    const outputs = Array.from({ length: 1 + this.#random(2) }, () => this.#expression());
    const tables = Array.from({ length: 1 + this.#random(2) }, () => this.#table());
    const join = this.#one([" , ", " , ", " JOIN ", " NATURAL JOIN ", " LEFT JOIN "]);
    const where = this.#random(3) === 0 ? ` WHERE ${this.#condition()}` : "";
    const group = this.#random(10) === 0 ? ` GROUP BY ${this.#one(COLUMNS)}` : "";
    return `SELECT ${outputs.join(" , ")} FROM ${tables.join(join)}${where}${group}`;
  }

  #table(): string {
    const kind = this.#random(12);
    const alias = this.#one([
      "",
      "",
      ` ${this.#one(ALIASES)}`,
      ` AS ${this.#name(this.#one(ALIASES))}`,
    ]);
    if (kind === 0 && this.#depth < 3) return `( ${this.#compound()} )${alias}`;
    if (kind === 1) return `${this.#one(FUNCTIONS)} ( ${this.#expression()} )${alias}`;
    return `${this.#name(this.#one(TABLES))}${alias}`;
  }

  #expression(): string {
    const kind = this.#random(12);
    if (kind === 0 && this.#depth < 3) return `( ${this.#compound()} )`;
    if (kind === 1) return `${this.#one(CALLS)} ( ${this.#one(COLUMNS)} )`;
    if (kind === 2) return this.#one(["1", "'x'", "NULL", "'[1,2]'", "'{\"a\":1}'"]);
    if (kind === 3) return `${this.#one(ALIASES)}.${this.#one(COLUMNS)}`;
    if (kind === 4) return this.#condition();
    return this.#one(COLUMNS);
  }

  #condition(): string {
    const table = this.#name(this.#one(TABLES));
    if (this.#random(3) === 0) return `( 1 , 0 , 'x' ) IN ${table}`;
    if (this.#depth < 3 && this.#random(2) === 0) return `EXISTS ( ${this.#compound()} )`;
    return `${this.#one(COLUMNS)} ${this.#one(["=", "IN", "LIKE", "IS NOT"])} ${this.#one([table, "'%7%'", "1"])}`;
  }
}

/** The variables that the readers find. They check nothing. */
const BELIEVED = [["p1"], ["u1"], ["p1", "u1"], ["p1", "p2", "list", "u1"], []];

/** Yields each of `count` statements that shows a model what it must not, if statements are not checked at all. */
export async function* leakingStatements(
  firstSeed: number,
  count: number,
  { open }: { readonly open?: () => () => QueryEngine } = {},
): AsyncGenerator<SqlLeak, undefined> {
  const worlds = await Promise.all(
    BELIEVED.map((believed) => walled({ believed, ...(open && { open: open() }) })),
  );
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const next = randomFrom(seed);
    const random: Random = (below) => Math.floor(next() * below);
    const at = random(BELIEVED.length);
    const world = worlds[at];
    const believed = BELIEVED[at];
    if (world === undefined || believed === undefined) continue;
    const sql = new SqlWriter(random).statement();
    const { text, trusted } = await answerTo(sql, world.store, world.databases);
    const leak = leakIn(text, trusted);
    if (leak !== undefined) yield { seed, sql, believed, leak, text };
  }
}
