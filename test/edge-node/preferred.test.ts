import { expect, it } from "vitest";
import { preferred } from "../../src/edge/http/request-headers.ts";

const JSON_TYPE = "application/json";
const NDJSON = "application/x-ndjson";
const TEXT = "text/plain";

it.each([
  [undefined, JSON_TYPE],
  [null, JSON_TYPE],
  ["", JSON_TYPE],
  ["*/*", JSON_TYPE],
  [NDJSON, NDJSON],
  ["Application/X-NDJSON", NDJSON],
  [`${JSON_TYPE}, ${NDJSON}`, JSON_TYPE],
  [`${NDJSON}, ${JSON_TYPE}`, JSON_TYPE],
  [`${JSON_TYPE};q=0.5, ${NDJSON}`, NDJSON],
  [`${NDJSON};q=0.9, ${JSON_TYPE};q=0.8, */*`, TEXT],
  [`${NDJSON};q=0.001, */*;q=0`, NDJSON],
  [`${JSON_TYPE};q=0, */*`, NDJSON],
  [`${JSON_TYPE};q=0`, JSON_TYPE],
  ["application/*;q=0.2, text/*;q=0.3", TEXT],
  [`application/*, ${JSON_TYPE};q=0.1`, NDJSON],
  ["*/*, text/plain", TEXT],
  ["text/html, application/xhtml+xml, */*;q=0.8", JSON_TYPE],
  ["image/png", JSON_TYPE],
  [`x${NDJSON}`, JSON_TYPE],
  [`${TEXT};q=0.5;x="${NDJSON}"`, TEXT],
  [`${NDJSON}; q=1; version=2`, NDJSON],
  [",;q=,,", JSON_TYPE],
])("the preferred media type of three for %s is %s", (accept, type) => {
  expect(preferred(accept, [JSON_TYPE, NDJSON, TEXT])).toBe(type);
});
