import { describe } from "vitest";
import { SqlStore } from "../../src/store/sql-store.ts";
import { contractOnSql } from "./variable-store-on-sql.ts";
import { wokenStore } from "./variable-store-woken.ts";

describe("SqlStore, woken before every call", () => {
  contractOnSql((sql, options) => wokenStore(() => new SqlStore(sql, options)));
});
