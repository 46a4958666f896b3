/**
 * Who asks, as the application's authenticator verified it. Stored with a turn or a run until it is over, and
 * never in a prompt, a log line or an export.
 */
export interface Identity {
  readonly tenant: string;
  /** The person or program within the tenant, such as a token's `sub`. */
  readonly principal?: string;
  /** Verified facts, such as a token's claims. JSON. */
  readonly claims?: Readonly<Record<string, unknown>>;
}
