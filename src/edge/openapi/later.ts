/**
 * A schema that is created when it is first needed: responses are only described, and few isolates are asked for the
 * description.
 */
export function later<Schema>(create: () => Schema): () => Schema {
  let schema: Schema | undefined;
  return () => (schema ??= create());
}
