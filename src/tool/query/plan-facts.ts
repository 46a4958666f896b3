import { compact } from "../../value/json.ts";
import type { AliasFacts, FunctionFacts, PlanFacts } from "./query-engine.ts";
import {
  type AliasTarget,
  SelectGroup,
  type TableFunctionUse,
  type TableUse,
} from "./select-group.ts";
import type { Statement } from "./statement.ts";

interface Naming {
  readonly parameters: readonly string[];
  /** The name of a table in the engine's statement. */
  readonly aliasOf: (use: TableUse) => string;
}

/** Columns of `json_each` and `json_tree`. */
const FUNCTION_COLUMNS = new Set("key value type atom id parent fullkey path json root".split(" "));

/** Collects facts from the text of a statement about the work of its plan. */
export function planFacts(statement: Statement, naming: Naming): PlanFacts {
  const { aliases, recursionSteps, tables, comparesLoosely, readsOnce, text, knowsFunctions } =
    statement;
  const known = new Map<AliasTarget, AliasFacts>();
  const factsOf = (target: AliasTarget): AliasFacts => {
    if ("argument" in target) return functionFacts(target, naming);
    if (!(target instanceof SelectGroup)) return { table: naming.aliasOf(target) };
    const facts = known.get(target);
    if (facts !== undefined) return facts;
    // Definitions that use each other: SQLite refuses them.
    known.set(target, { select: true });
    const { maxRows, keys, columns, isStarred, groupedColumns } = target;
    const source = target.source === undefined ? undefined : factsOf(target.source);
    const own = { maxRows, keys, columns, isStarred, groupedColumns, source };
    const made: AliasFacts = { select: true, ...compact(own) };
    known.set(target, made);
    return made;
  };
  const targets = [...aliases.values()].flat();
  return {
    aliases: new Map(Array.from(aliases, ([alias, all]) => [alias, all.map(factsOf)])),
    recursionSteps,
    parameterChars: Math.max(0, ...naming.parameters.map(({ length }) => length)),
    isJoin: targets.length + tables.filter(({ alias }) => alias === undefined).length > 1,
    readsOnce,
    comparesLoosely,
    knowsFunctions,
    text,
  };
}

/** Finds out whose column the argument is. */
function functionFacts(use: TableFunctionUse, { aliasOf }: Naming): FunctionFacts {
  const { sources } = use.group.select;
  const { column } = use.argument;
  const functions = sources.filter((source) => "argument" in source);
  const tables = sources.filter((source) => "token" in source);
  const isOnly = tables.length === 1 && functions.length === sources.length - 1;
  const isNamed = (alias: string | undefined) => alias?.toLowerCase() === column?.table;
  const of =
    column?.table === undefined
      ? isOnly && column !== undefined && !FUNCTION_COLUMNS.has(column.name)
        ? tables[0]
        : undefined
      : tables.find(({ alias }) => isNamed(alias));
  const isNested =
    column?.name === "value" &&
    functions.filter(({ alias }) => isNamed(alias)).length === 1 &&
    functions.find(({ argument }) => argument.text === use.argument.text) === use;
  const isFirst = isOnly && functions[0] === use;
  const isMeasurable = of !== undefined && use.isEach && use.isOnly;
  const measured = isMeasurable ? column?.name : undefined;
  return {
    function: true,
    isNested,
    isFirst,
    ...compact({ of: of && aliasOf(of), column: measured }),
  };
}
