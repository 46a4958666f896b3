import * as z from "zod";
import { ByrefError, messageOf } from "../errors.ts";

/** Location hints for new objects. Source: Cloudflare's list of location hints. */
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

/** The query parameter `location`. */
export const locationQuery = locationHint
  .optional()
  .describe("For a new conversation; default: near the client");

/** Jurisdictions that an object and its data stay in. Source: Cloudflare's list of jurisdictions. */
export const JURISDICTIONS = [
  "eu",
  "us",
  "fedramp",
  "fedramp-high",
] as const satisfies readonly DurableObjectJurisdiction[];

/**
 * The object with this name, in the jurisdiction that `JURISDICTION` names, which is part of its id. The
 * location hint has an effect only when the object is new. Throws `bad_configuration` if the platform does not support
 * the jurisdiction, so that no data is stored outside of it.
 */
export function objectIn(
  namespace: DurableObjectNamespace,
  name: string,
  { settings, hint = settings.LOCATION_HINT, jurisdiction = settings.JURISDICTION }: Placement,
): DurableObjectStub {
  let within = namespace;
  try {
    // The platform checks the name.
    if (jurisdiction !== undefined)
      within = namespace.jurisdiction(jurisdiction as DurableObjectJurisdiction);
  } catch (error) {
    const message = `JURISDICTION=${jurisdiction} cannot be kept here: ${messageOf(error)}`;
    throw new ByrefError("bad_configuration", message);
  }
  const options = hint === undefined ? {} : { locationHint: hint };
  return within.get(within.idFromName(name), options);
}

export interface Placement {
  readonly settings: {
    readonly JURISDICTION?: string | undefined;
    readonly LOCATION_HINT?: DurableObjectLocationHint | undefined;
  };
  /** Requested by the caller; takes precedence over `LOCATION_HINT`. */
  readonly hint?: DurableObjectLocationHint | undefined;
  /** Takes precedence over `JURISDICTION`. */
  readonly jurisdiction?: string | undefined;
}
