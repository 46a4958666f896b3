import { describe } from "vitest";
import { SqlStore } from "../../src/store/sql-store.ts";
import { contractOnSql } from "./variable-store-on-sql.ts";

describe("SqlStore", () => {
  contractOnSql((sql, options) => new SqlStore(sql, options));
});
