import type { ObjectContext } from "../conversation-of.ts";
import type { DurableSql } from "../platform/durable-sql.ts";

/** A tenant's storage and alarm, for a feature that an application adds to the object. */
export interface TenantContext extends ObjectContext {
  readonly sql: DurableSql;
  /** Call this in the commit that changes `dueMs`. */
  setAlarm(): Promise<void>;
}

/** A feature of a tenant's object, with rows of its own. */
export interface TenantFeature {
  /** When `onAlarm` is due, in milliseconds since 1970. */
  readonly dueMs: number;
  onAlarm(): Promise<void>;
  deleteAll(): void;
}

/** The parts of a tenant's object that its endpoints use. */
export interface TenantParts {
  readonly context: TenantContext;
  /** Undefined in an application without one. */
  readonly feature: TenantFeature | undefined;
}
