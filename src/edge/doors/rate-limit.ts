import { ByrefError } from "../../errors.ts";

/**
 * Throws `rate_limited` if the binding says so. It is approximate and there against floods; what may be
 * spent is counted elsewhere. So where it fails, people come in.
 */
export async function limitRate(binding: RateLimit | undefined, tenant: string): Promise<void> {
  if (binding === undefined || (await isWithin(binding, tenant))) return;
  throw new ByrefError("rate_limited", "There were too many requests; try again later.");
}

async function isWithin(binding: RateLimit, tenant: string): Promise<boolean> {
  try {
    const { success } = await binding.limit({ key: tenant });
    return success;
  } catch (error) {
    console.error(error);
    return true;
  }
}
