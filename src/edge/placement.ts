import * as z from "zod";
import { ByrefError, messageOf } from "../errors.ts";

/** Near to which an object can be asked to live. Source: Cloudflare's list of location hints. */
const LOCATIONS = [
  "wnam",
  "enam",
  "sam",
  "weur",
  "eeur",
  "apac",
  "apac-ne",
  "apac-se",
  "oc",
  "afr",
  "me",
] as const satisfies readonly DurableObjectLocationHint[];

export const locationHint = z.enum(LOCATIONS, { error: `must be ${LOCATIONS.join(", ")}` });

/** Of a query. */
export const locationQuery = locationHint
  .optional()
  .describe("Where a new conversation should live; default: near to whoever makes it");

/** Out of which an object, and what it keeps, does not get. Source: Cloudflare's list of jurisdictions. */
export const JURISDICTIONS = [
  "eu",
  "us",
  "fedramp",
  "fedramp-high",
] as const satisfies readonly DurableObjectJurisdiction[];

/**
 * The object of this name, in the jurisdiction that `JURISDICTION` names: that is part of its id. The hint
 * counts where the object is new, and for that alone.
 */
export function objectIn(
  namespace: DurableObjectNamespace,
  name: string,
  { settings, hint = settings.LOCATION_HINT, jurisdiction = settings.JURISDICTION }: Placement,
): DurableObjectStub {
  const within = jurisdiction === undefined ? namespace : restricted(namespace, jurisdiction);
  const options = hint === undefined ? {} : { locationHint: hint };
  return within.get(within.idFromName(name), options);
}

/** Nothing is kept where it must not be: throws `bad_configuration` where there are no jurisdictions. */
function restricted(
  namespace: DurableObjectNamespace,
  jurisdiction: string,
): DurableObjectNamespace {
  try {
    // The platform knows which there are.
    return namespace.jurisdiction(jurisdiction as DurableObjectJurisdiction);
  } catch (error) {
    const message = `JURISDICTION=${jurisdiction} cannot be kept here: ${messageOf(error)}`;
    throw new ByrefError("bad_configuration", message);
  }
}

interface Placement {
  readonly settings: {
    readonly JURISDICTION?: string | undefined;
    readonly LOCATION_HINT?: DurableObjectLocationHint | undefined;
  };
  /** Asked for by the caller; goes before `LOCATION_HINT`. */
  readonly hint?: DurableObjectLocationHint | undefined;
  /** Goes before `JURISDICTION`. */
  readonly jurisdiction?: string | undefined;
}
