import { ByrefError } from "../errors.ts";

/**
 * Stands in for `@ai-sdk/gateway` (`alias` in wrangler.toml), which the AI SDK imports for models that are
 * given as text, and which nobody here does: 20 KiB of the deployable Worker.
 */
export class GatewayError extends Error {
  static isInstance(): boolean {
    return false;
  }
}

export class GatewayAuthenticationError extends GatewayError {}

export function createGateway(): never {
  const message = "Models given as text need the AI SDK's gateway; pass a provider's model.";
  throw new ByrefError("bad_configuration", message);
}

export const gateway = Object.assign(createGateway, { specificationVersion: "v4" });
