import * as z from "zod";
import * as limits from "../../limits.ts";
import { locationQuery } from "../placement.ts";
import { changesBody, interpolateBody } from "../routes/variables.ts";
import type { Content, Operations } from "./operation.ts";
import { after, bytes, json, pageSize, text } from "./parameters.ts";
import * as schemas from "./schemas.ts";

const part = z.int().min(0).optional();
const etag = z.string().regex(/^(?:\*|(?:W\/)?"[!#-~]*")$/);
const ifMatch = { "If-Match": etag.describe("Or *: nothing of anybody else's is lost") };
const UNCHANGED = "Not modified";
const ifNoneMatch = { "If-None-Match": etag };

const value: Content = {
  "application/json": schemas.json,
  "application/x-ndjson": text.describe("An array, a record a line"),
  "text/plain": text,
  "*/*": bytes,
};

/** The variables of a conversation. */
export const variableOperations: Operations = {
  "GET /conversations/:id/variables": {
    summary: "Lists variables, without their values",
    query: {
      last: part.describe("The newest so many"),
      names: text.optional().describe("Those with these names, by comma"),
      after,
      limit: pageSize(limits.maxVariablePageSize),
    },
    answers: { 200: { "application/json": schemas.variables, "text/markdown": text } },
  },
  "DELETE /conversations/:id/variables": {
    summary: "Deletes all but the newest, and those that are pinned",
    query: { keepLast: z.int().min(0).default(0) },
    answers: { 200: json(schemas.deleted) },
  },
  "GET /conversations/:id/variables/:name": {
    summary: "Reads a value, or a part of it",
    query: {
      path: text.optional().describe("As behind the name in a reference: .temp, [0].id"),
      offset: part.describe("In elements, characters or bytes"),
      limit: part,
    },
    headers: { Range: text.optional(), "If-Range": etag, ...ifMatch, ...ifNoneMatch },
    answers: { 200: value, 206: { "*/*": bytes }, 304: UNCHANGED },
  },
  "PUT /conversations/:id/variables/:name": {
    summary: "Saves a value",
    query: {
      mode: z.enum(["replace", "append", "merge", "new"]).default("replace"),
      ttl: z.int().min(1).max(limits.maxTtlSeconds).optional().describe("In seconds"),
      pin: z.enum(["true", "false"]).optional(),
      visibility: z.enum(["model", "sealed", "secret"]).optional(),
      description: z.string().max(limits.maxDescriptionChars).optional(),
      location: locationQuery,
    },
    headers: { ...ifMatch, ...ifNoneMatch },
    body: value,
    answers: { 200: json(schemas.variable), 201: json(schemas.variable) },
  },
  "PATCH /conversations/:id/variables/:name": {
    summary: "Changes its time to live, pin or description",
    headers: { "If-Match": etag.describe("The ETag of …/info, or *") },
    body: json(changesBody),
    answers: { 200: json(schemas.variable) },
  },
  "DELETE /conversations/:id/variables/:name": {
    summary: "Deletes a variable",
    headers: ifMatch,
    answers: { 204: "It is gone" },
  },
  "GET /conversations/:id/variables/:name/info": {
    summary: "Describes a variable, without its value",
    headers: ifNoneMatch,
    answers: { 200: json(schemas.variable), 304: UNCHANGED },
  },
  "POST /conversations/:id/interpolate": {
    summary: "Fills a text's references in",
    body: json(interpolateBody),
    answers: { 200: json(schemas.interpolated) },
  },
};
