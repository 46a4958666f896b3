import { describe } from "vitest";
import { MemoryBlobs } from "../../src/store/bytes/memory-blobs.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { valueBoundsContract } from "./variable-store.ts";
import { contractOnSql } from "./variable-store-on-sql.ts";
import { wokenStore } from "./variable-store-woken.ts";

describe("SqlStore", () => {
  contractOnSql((sql, options) => new SqlStore(sql, options), {}, valueBoundsContract);
});

describe("SqlStore, woken before every call", () => {
  contractOnSql(
    (sql, options) => wokenStore(() => new SqlStore(sql, options)),
    {},
    valueBoundsContract,
  );
});

describe("SqlStore with a bucket", () => {
  contractOnSql(
    (sql, options) =>
      new SqlStore(sql, { ...options, bucket: { blobs: new MemoryBlobs(), prefix: "c/" } }),
    { hasBucket: true },
    valueBoundsContract,
  );
});
