/** What tests look at in an agent. */
interface Inspected {
  readonly variables: {
    readonly store: {
      list(): readonly { readonly name: string }[];
      save(variable: { name: string; value: number; ttlMs: number }): Promise<unknown>;
    };
    fork(into: (file: ReadableStream<Uint8Array>) => Promise<void>): Promise<void>;
  };
  listSchedules(): Promise<unknown>;
}

/** Another object of the class under test. */
interface Copy {
  importVariables(file: ReadableStream<Uint8Array>): Promise<void>;
}

/**
 * Answers a test's request for the tables, names or schedules of an agent, for a variable that expires soon, or for a
 * copy of its variables. Undefined for other requests.
 */
export async function inspect(
  agent: Inspected,
  { sql }: DurableObjectStorage,
  { url }: Request,
  openCopy: (name: string) => Promise<unknown>,
): Promise<Response | undefined> {
  const { pathname, searchParams } = new URL(url);
  const { variables } = agent;
  switch (pathname.split("/").at(-1)) {
    case "tables": {
      const tables = sql.exec("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
      const names = tables.map(({ name }) => String(name)).filter((one) => !one.startsWith("_cf"));
      const rowsOf = (name: string) => sql.exec(`SELECT * FROM "${name}"`).toArray();
      return Response.json(
        Object.fromEntries(
          names.map((name) => [name, rowsOf(name).map((row) => JSON.stringify(row))]),
        ),
      );
    }
    case "names":
      return Response.json(variables.store.list().map(({ name }) => name));
    case "schedules":
      return Response.json(await agent.listSchedules());
    case "brief":
      await variables.store.save({ name: "brief", value: 1, ttlMs: 500 });
      return new Response("Saved");
    case "copy": {
      // The binding has the class under test in place of the example's.
      const other = (await openCopy(searchParams.get("to") ?? "")) as Copy;
      await variables.fork((file) => other.importVariables(file));
      return new Response("Copied");
    }
    default:
      return undefined;
  }
}

export function textOf({
  parts,
}: {
  readonly parts: readonly { type: string; text?: string }[];
}): string {
  return parts.map(({ type, text = "" }) => (type === "text" ? text : "")).join("");
}
