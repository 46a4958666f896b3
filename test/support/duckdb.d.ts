/** What the tests use of it. Its own types would need the package, which only `npm run test:all` uses. */
declare module "@duckdb/node-api" {
  interface Reader {
    getRowsJS(): readonly (readonly unknown[])[];
  }
  interface Connection {
    runAndReadAll(sql: string): Promise<Reader>;
    closeSync(): void;
  }
  export class DuckDBInstance {
    static create(path: string): Promise<DuckDBInstance>;
    connect(): Promise<Connection>;
  }
}
