import * as z from "zod";
import { type Field, type FieldType, variableFields } from "../store/variable.ts";

/** A schema for each type of field. */
export type FieldSchemas = Readonly<Record<Extract<FieldType, string>, z.ZodType>>;

/** The shape of a variable's metadata for an object schema, limited to the `wanted` fields. */
export function variableShape(
  schemas: FieldSchemas,
  wanted: (field: Field) => boolean = () => true,
): Readonly<Record<string, z.ZodType>> {
  const fields = Object.entries<Field>(variableFields).filter(([, field]) => wanted(field));
  return Object.fromEntries(fields.map(([name, field]) => [name, schemaOf(field, schemas)]));
}

function schemaOf({ is, isOptional, about }: Field, schemas: FieldSchemas): z.ZodType {
  const listed = (one: Exclude<FieldType, string>) =>
    "oneOf" in one ? z.enum(one.oneOf) : z.array(z.enum(one.someOf));
  const schema = typeof is === "string" ? schemas[is] : listed(is);
  const described = about === undefined ? schema : schema.describe(about);
  return isOptional === true ? described.optional() : described;
}
