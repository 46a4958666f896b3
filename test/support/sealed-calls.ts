import fc from "fast-check";
import type { Json } from "../../src/value/json.ts";

export interface Call {
  readonly tool: string;
  readonly input: Json;
}

const leaf = fc.constantFrom<Json>("Ada", "", "http://x/", "$a", 1, 0, null, true, [1], { a: 1 });

const path = fc
  .array(
    fc.constantFrom(
      ".name",
      ".name[1:9]",
      ".age",
      ".v",
      ".nope",
      "[0]",
      "[1]",
      "[-1]",
      "[7]",
      "[*]",
      "[:2]",
      "[2:]",
      "[1:5]",
      ".length",
    ),
    { maxLength: 3 },
  )
  .map((segments) => segments.join(""));
const made = [
  "run_code_1",
  "run_code_2",
  "echo_1",
  "echo_2",
  "pass_1",
  "strict_1",
  "kept",
  "list",
  "sealed_echo_1",
];
const name = fc.constantFrom("patients", "note", "key", "orders", "words", "unknown", ...made);
const reference = fc.tuple(name, path).map(([one, rest]) => `$${one}${rest}`);
const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: reference },
  { weight: 1, arbitrary: reference.map((one) => `see ${one} and $note`) },
  { weight: 1, arbitrary: fc.tuple(reference, reference).map(([a, b]): Json => ({ a, b: [b] })) },
  { weight: 1, arbitrary: leaf },
);
/** Queries that a model may make on a table that may be sealed. */
const queries = [
  "SELECT count(*) AS n FROM TABLE",
  "SELECT * FROM TABLE LIMIT 1",
  "SELECT * FROM PART",
  "SELECT name FROM orders, TABLE WHERE age > 0",
  "SELECT 1 AS n WHERE 'Ada' IN TABLE",
  "SELECT no_such_column FROM PART",
  "SELECT name, count(*) AS n FROM PART GROUP BY name",
  "SELECT * FROM orders JOIN PART AS p ON p.name = orders.name",
  "SELECT json_group_object(name, 1) AS v FROM PART",
  "SELECT * FROM orders WHERE id = VALUE",
  "SELECT * FROM orders LIMIT VALUE",
  "SELECT VALUE AS v",
  "WITH t AS (SELECT * FROM PART) SELECT count(*) AS n FROM t, t AS u",
];
/** Conditions on sealed data, and what code can do depending on them. */
const condition = fc.constantFrom(
  "patients[0].name > 'M'",
  "note[0] === 'a'",
  "patients[1] === null",
  "typeof patients[2] === 'object'",
);
const effect = fc.constantFrom(
  "throw new Error(note)",
  "throw new Error(JSON.stringify(patients).slice(5, 40))",
  "return Array(50).fill(0)",
  "return 'yes'",
  "return { [note]: 1, [patients[0].name]: patients[0] }",
  "return [...note].reverse().join('')",
  "return btoa(note)",
  "return Object.keys(patients[1])",
  "vars[patients[0].name.toLowerCase()] = note",
  "return 5",
  "vars.kept = 1",
  "vars.kept = 'text'; vars[note] = 1",
  "vars.other = 1",
  "console.log(note)",
  "return JSON.stringify(patients)",
  "await tools.echo({ v: note })",
  "await tools.set_variable({ name: note, value: note })",
  "await tools[note]({ [note]: 1 })",
  "return (await tools.query_variables({ sql: note })).length",
  "return",
);
const code = fc
  .tuple(condition, effect, effect)
  .map(([when, yes, no]) => `if (${when}) { ${yes} } else { ${no} }`);

const searched = fc.oneof(reference, fc.constantFrom("a", "Ada", "abc", "bc [$note] "));
const pointer = fc.constantFrom("/0", "/0/name", "/1/x", "/x", "/x/name", "/x/0", "/-", "");
/** One kind of edit, or a mix of kinds, which is an error. */
const edit = fc.oneof(
  fc.record({
    find: searched,
    replace: value.map((one) => JSON.stringify(one)),
    all: fc.boolean(),
  }),
  fc.record({ op: fc.constantFrom("add", "replace", "test"), path: pointer, value }),
  fc.record({ op: fc.constantFrom("copy", "move"), from: pointer, path: pointer }),
  fc.record({
    where: fc.constantFrom(
      "1",
      "name = 'Ada'",
      "name IS NULL",
      "id IN (SELECT age FROM patients)",
      "json_valid(name)",
      "name = $patients[0].name",
      "length(name) > 2 AND id < 3",
    ),
    set: fc.dictionary(fc.constantFrom("name", "id", "x"), value, { minKeys: 1, maxKeys: 2 }),
  }),
);

/** Calls that a model may try. */
export const call: fc.Arbitrary<Call> = fc.oneof(
  fc.record({
    tool: fc.constant("run_code"),
    input: fc.record({
      code,
      variables: fc.constantFrom(["patients", "note"], ["patients", "note", "key"]),
      outputs: fc.constantFrom<string[]>([], ["kept"], ["kept", "list"]),
    }),
  }),
  fc.record({
    tool: fc.constant("set_variable"),
    input: fc.record(
      {
        name: fc.constantFrom(
          "kept",
          "list",
          "words",
          "kept.a.b",
          "patients",
          "patients[0].name",
          "words.a",
        ),
        value,
        mode: fc.constantFrom("replace", "append", "merge", "new"),
      },
      { requiredKeys: ["name", "value"] },
    ),
  }),
  fc.record({
    tool: fc.constantFrom("echo", "sealed_echo", "pass"),
    input: fc.record(
      {
        v: value,
        _outputPath: fc.constantFrom(
          "$kept",
          "$kept.a",
          "$patients.x",
          "$list[0]",
          "$list && $kept",
          "$kept && $kept.a",
          "$list[0] && $list[-1].a",
          "$note || $kept",
          `$orders[0]${".a".repeat(197)}`,
        ),
      },
      { requiredKeys: ["v"] },
    ),
  }),
  fc.record({ tool: fc.constant("strict"), input: fc.record({ city: value }) }),
  fc.record({ tool: fc.constantFrom("failing", "login"), input: fc.record({ v: value }) }),
  fc.record({
    tool: fc.constant("choose"),
    input: fc.record({ place: value, _outputPath: fc.constant("$note || $kept") }),
  }),
  fc.record({
    tool: fc.constant("query_variables"),
    input: fc.record(
      {
        sql: fc
          .tuple(fc.constantFrom(...queries), name, path, reference)
          .map(([sql, one, rest, other]) =>
            sql
              .replaceAll("TABLE", one)
              .replaceAll("PART", `$${one}${rest}`)
              .replaceAll("VALUE", other),
          ),
        saveAs: fc.constantFrom("kept", "list"),
      },
      { requiredKeys: ["sql"] },
    ),
  }),
  fc.record({
    tool: fc.constant("edit_variable"),
    input: fc.record(
      {
        name: fc.constantFrom("orders", "words", "patients", "kept", "list"),
        edits: fc.array(edit, { minLength: 1, maxLength: 3 }) as fc.Arbitrary<Json>,
        saveAs: fc.constantFrom("kept", "list", "words"),
      },
      { requiredKeys: ["name", "edits"] },
    ),
  }),
  fc.record({
    tool: fc.constantFrom("read_variable"),
    input: fc.record({ name, path }, { requiredKeys: ["name"] }),
  }),
  fc.record({
    tool: fc.constant("search_variable"),
    input: fc.record({ name, path, query: fc.constantFrom("a", "Ada") }),
  }),
  fc.record({
    tool: fc.constant("export_variable"),
    input: fc.record({
      name,
      path,
      file: fc.constantFrom("file:a.csv", "file:a.txt", "file:a.json"),
    }),
  }),
  fc.record({
    tool: fc.constant("variable_get"),
    input: fc.record(
      {
        key: fc.tuple(name, path).map(([one, rest]) => one + rest),
        _outputPath: fc.constantFrom("$kept", "$kept.a"),
      },
      { requiredKeys: ["key"] },
    ),
  }),
  fc.record({
    tool: fc.constant("variable_set"),
    input: fc.record(
      { key: fc.constantFrom("kept", "list"), value, _outputPath: fc.constant("$list") },
      { requiredKeys: ["key", "value"] },
    ),
  }),
  fc.record({
    tool: fc.constant("variable_interpolate"),
    input: fc.record(
      {
        content: fc.tuple(name, path).map(([one, rest]) => `see {{${one}${rest}}} and {{words}}`),
        _outputPath: fc.constantFrom("$kept", "$kept.a"),
      },
      { requiredKeys: ["content"] },
    ),
  }),
  fc.constant<Call>({ tool: "list_variables", input: {} }),
  fc.record({
    tool: fc.constant("delete_variable"),
    input: fc.record({ name: fc.constantFrom("kept", "run_code_1") }),
  }),
  fc.constant<Call>({
    tool: "delegate",
    input: { agent: "other", task: "Look at $patients[0].name" },
  }),
);
