/** Something of a server that clients may have to ask for again. */
export type Change = ListChange | { readonly kind: "resource"; readonly uri: string };

export interface ListChange {
  readonly kind: "tools" | "prompts" | "resources";
}
