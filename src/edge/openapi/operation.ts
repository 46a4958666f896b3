import type * as z from "zod";

/** What a body may be: by media type, a schema of its JSON, or what stands for text and bytes. */
export type Content = Readonly<Record<string, z.ZodType>>;

/** One call of the HTTP interface, as `GET /openapi.json` describes it. */
export interface Operation {
  readonly summary: string;
  readonly query?: Readonly<Record<string, z.ZodType>>;
  readonly headers?: Readonly<Record<string, z.ZodType>>;
  readonly body?: Content;
  /** A request without a body is fine too. */
  readonly isBodyOptional?: boolean;
  /** By status: what it says, or what it is where there is no body. Errors are the same for all. */
  readonly answers: Readonly<Record<number, Content | string>>;
  /** Anybody may call it. */
  readonly isOpen?: boolean;
}

/** By method and route, as the app has it: `GET /conversations/:id`. */
export type Operations = Readonly<Record<string, Operation>>;
