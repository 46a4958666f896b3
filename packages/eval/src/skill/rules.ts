import { json } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import { type Grasp, type Hand, variableIn } from "./hand.ts";
import type { SeenCall, Sight } from "./sight.ts";

/** A model's reply: calls or an answer. */
export type Reply =
  | { readonly calls: readonly { readonly tool: string; readonly input: object }[] }
  | { readonly text: string };

/** Input of a rule. */
interface Work {
  readonly sight: Sight;
  readonly hand: Hand;
  /** The parts of the question that the rule's pattern captured. */
  readonly parts: readonly string[];
}

/** Understands one kind of question. */
interface Rule {
  readonly pattern: RegExp;
  reply(work: Work): Reply;
}

const DONE: Reply = { text: "done" };
const LOST: Reply = { text: "I cannot do this: I do not see the data." };

/** The questions that scripted models understand: those of the tasks. */
export const rules: readonly Rule[] = [
  {
    pattern: /^Fetch the document "(.+?)" with fetch_document, then store it unchanged as "(.+?)"/u,
    reply: (work) => {
      const [name = "", copy = ""] = work.parts;
      return chain(work, { tool: "fetch_document", input: { name } }, (fetched) =>
        finish(
          work,
          "store_document",
          writing(work.hand.pass(fetched), (content) => ({ name: copy, content })),
        ),
      );
    },
  },
  {
    pattern:
      /^Fetch the document "(.+?)" with .+? whose "id" is "(.+?)", change "(.+?)" to "(.+?)", .+? as "(.+?)" with/u,
    reply: (work) => edit(work),
  },
  {
    pattern: /^Call list_shipments, then cancel all/u,
    reply: (work) =>
      chain(work, { tool: "list_shipments", input: {} }, (listed) =>
        finish(
          work,
          "cancel_shipments",
          writing(work.hand.pass(listed, "[*].id"), (ids) => ({ ids })),
        ),
      ),
  },
  {
    pattern: /^Call list_orders and list_customers\. .+? "country" "(\w+)"/u,
    reply: (work) => total(work),
  },
  {
    pattern: /^Call list_parts, then pass the whole list to print_table/u,
    reply: (work) =>
      chain(work, { tool: "list_parts", input: {} }, (listed) =>
        finish(
          work,
          "print_table",
          writing(work.hand.pass(listed), (rows) => ({ rows })),
        ),
      ),
  },
  {
    pattern: /<text>\n([\s\S]*)\n<\/text>/u,
    reply: (work) =>
      finish(work, "store_text", { input: { text: work.hand.copy(work.parts[0] ?? "") } }),
  },
];

/** A call, or what has to come before it. */
type Written = { readonly input: object } | { readonly before: Reply };

function writing(grasp: Grasp, inputOf: (value: Json) => object): Written {
  if (grasp === undefined) return { before: LOST };
  return "call" in grasp ? { before: { calls: [grasp.call] } } : { input: inputOf(grasp.value) };
}

/** Makes the last call of a task, repeats it after an error, and answers when the call has succeeded. */
function finish({ sight }: Work, tool: string, written: Written): Reply {
  const calls = callsOf(sight, tool);
  if (calls.some(({ isWrong }) => !isWrong)) return DONE;
  if (calls.length > 5) return LOST;
  return "before" in written ? written.before : { calls: [{ tool, input: written.input }] };
}

/** Makes a call once, then continues with its result. */
function chain(
  { sight }: Work,
  call: { readonly tool: string; readonly input: Readonly<Record<string, Json>> },
  next: (made: SeenCall) => Reply,
): Reply {
  const made = callsOf(sight, call.tool).find(({ isWrong }) => !isWrong);
  return made === undefined ? { calls: [call] } : next(made);
}

function callsOf({ calls }: Sight, tool: string): readonly SeenCall[] {
  return calls.filter((call) => call.tool === tool);
}

/** Edits the variable in place with references. Otherwise writes the whole document again. */
function edit(work: Work): Reply {
  const [name = "", id = "", field = "", value = "", copy = ""] = work.parts;
  return chain(work, { tool: "fetch_document", input: { name } }, (fetched) => {
    const variable = variableIn(fetched.output);
    const canEdit = variable !== undefined && work.sight.tools.has("edit_variable");
    const passed = work.hand.pass(fetched);
    const isByReference =
      passed !== undefined && "value" in passed && typeof passed.value === "string";
    const store = (grasp: Grasp) =>
      finish(
        work,
        "store_document",
        writing(grasp, (content) => ({ name: copy, content })),
      );
    if (canEdit && isByReference) {
      const edits = [{ where: `id = '${id}'`, set: { [field]: value } }];
      return chain(work, { tool: "edit_variable", input: { name: variable, edits } }, () =>
        store(passed),
      );
    }
    const seen = work.hand.see(fetched);
    if (seen === undefined || "call" in seen || !json.isJsonArray(seen.value)) return store(seen);
    const changed = seen.value.map((record) =>
      json.isJsonObject(record) && record.id === id ? { ...record, [field]: value } : record,
    );
    return store({ value: work.hand.copy(changed) });
  });
}

/** Adds up what it has seen, or lets SQL do it. */
function total(work: Work): Reply {
  const [country = ""] = work.parts;
  return chain(work, { tool: "list_orders", input: {} }, (orders) =>
    chain(work, { tool: "list_customers", input: {} }, (customers) => {
      const [from, joined] = [orders, customers].map(({ output }) => variableIn(output));
      if (work.sight.tools.has("query_variables") && from !== undefined && joined !== undefined) {
        const sql = `SELECT SUM(o.amount) AS total FROM $${from} AS o JOIN $${joined} AS c ON c.id = o.customer WHERE c.country = '${country}'`;
        return chain(work, { tool: "query_variables", input: { sql } }, ({ output }) =>
          finish(work, "report_total", { input: { total: totalIn(output) } }),
        );
      }
      const seen = [orders, customers].map((call) => work.hand.see(call));
      const missing = seen.find((one) => one === undefined || "call" in one);
      if (seen.includes(undefined)) return LOST;
      if (missing !== undefined && "call" in missing) return { calls: [missing.call] };
      const [list, people] = seen.map((one) => recordsIn(one));
      const chosen = new Set(people?.filter((one) => one.country === country).map((one) => one.id));
      const sum = list
        ?.filter(({ customer }) => chosen.has(customer))
        .reduce((sum, { amount }) => sum + Number(amount), 0);
      return finish(work, "report_total", { input: { total: sum ?? 0 } });
    }),
  );
}

function recordsIn(grasp: Grasp): readonly Readonly<Record<string, unknown>>[] {
  if (grasp === undefined || "call" in grasp || !json.isJsonArray(grasp.value)) return [];
  return grasp.value.filter(json.isJsonObject);
}

function totalIn(output: Json | undefined): number {
  const rows = json.isObject(output) && Array.isArray(output.value) ? output.value : [];
  const [row] = rows as readonly unknown[];
  return json.isObject(row) ? Number(row.total) : 0;
}
