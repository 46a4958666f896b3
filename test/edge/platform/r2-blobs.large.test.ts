import { env } from "cloudflare:workers";
import { describe } from "vitest";
import { R2Blobs } from "../../../src/edge/platform/r2-blobs.ts";
import { manyBlobs } from "../../contract/blobs.ts";

describe("R2Blobs on a real bucket", () => {
  manyBlobs(() => new R2Blobs(env.BLOBS));
});
