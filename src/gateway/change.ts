/** Something of a server that clients may have to ask for again. */
export type Change =
  | ListChange
  | {
      readonly kind: "resource";
      readonly server: string;
      /** As the server knows it. */
      readonly uri: string;
      /** As clients know it. */
      readonly address: string;
    };

export interface ListChange {
  readonly kind: "tools" | "prompts" | "resources";
}
