import { env } from "cloudflare:workers";
import type { QueryEngine } from "../../../packages/query/src/query-engine.ts";
import { describeQueryEngine } from "../../../packages/query/test/contract.ts";
import { describeTextColumns } from "../../../packages/query/test/text-columns.ts";
import { newId } from "../../support/edge.ts";

function tables(): QueryEngine {
  // The type of the namespace is that of the bound class, which the generated types do not include.
  const stub = env.TABLES.get(env.TABLES.idFromName(newId())) as unknown as QueryEngine;
  return {
    run: (query) => stub.run(query),
    begin: (key) => stub.begin(key),
    add: (table, chunk) => stub.add(table, chunk),
    complete: (table, shape) => stub.complete(table, shape),
    keep: (keys) => stub.keep(keys),
  };
}

describeQueryEngine("a Tables object", tables);
describeTextColumns("a Tables object", tables);
