import { describe } from "vitest";
import { MemoryBlobs } from "../../src/store/bytes/memory-blobs.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { contractOnSql } from "./variable-store-on-sql.ts";

describe("SqlStore with a bucket", () => {
  contractOnSql(
    (sql, options) =>
      new SqlStore(sql, { ...options, bucket: { blobs: new MemoryBlobs(), prefix: "c/" } }),
    { hasBucket: true },
  );
});
