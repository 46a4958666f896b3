import { ByrefError } from "../../../src/errors.ts";
import type { Syntax } from "../../../src/references.ts";
import type { RuntimeToolContext, UrlSources } from "../../../src/internal-tool.ts";
import { sequences, targets } from "../../../src/internal.ts";
import type { QueryDatabases } from "./query-databases.ts";
import type { QueryAccess } from "./run-query.ts";

interface Reading {
  readonly databases: QueryDatabases;
  /** The syntaxes of references in the statement. */
  readonly syntaxes: readonly Syntax[];
  /** Receives the values that the statement reads. Default: none. */
  readonly sources?: UrlSources;
}

/** Returns a model's access to queries: variables whose values it may see. */
export function modelAccess(
  { store, labels, resolve }: RuntimeToolContext,
  { databases, syntaxes, sources }: Reading,
): QueryAccess {
  const used = new Set<string>();
  return {
    store,
    databases,
    most: "visible",
    syntaxes,
    read: sequences.valueAt,
    table: (target) => {
      const info = targets.readable(store, target.name);
      labels.add(info.name);
      const source = targets.referenceTo(target);
      if (!used.has(source)) {
        used.add(source);
        // A value that is too large to be read has no known URLs.
        sources?.add(() => sequences.valueAt(store, target).catch(() => null));
      }
      return info;
    },
    parameter: async (source) => {
      const { value, unresolved } = await resolve(source).finally(() => {
        // Takes precedence over any other error.
        if (!labels.isGuarded) return;
        const message = "A query cannot compare with a sealed or secret value.";
        throw new ByrefError("variable_sealed", message);
      });
      if (unresolved.length > 0) return undefined;
      sources?.add(() => value);
      return value;
    },
  };
}
