import { z } from 'zod'
import { type JsonObject, jsonObject, safeInteger } from '../json-object.ts'
import { MAX_ID_CHARACTERS } from '../message.ts'

/** The types of the fields of documents. */
interface FieldTypes {
  text: z.ZodType<string>
  optionalText: z.ZodType<string | null | undefined>
  /** The name of a channel or a thread in messages. */
  extId: z.ZodType<string>
  /** The id of another document, whether or not there is one. */
  id: z.ZodType<number>
  optionalId: z.ZodType<number | null | undefined>
  optionalIds: z.ZodType<number[] | null | undefined>
  url: z.ZodType<string>
  object: z.ZodType<JsonObject>
  optionalObject: z.ZodType<unknown>
}

/** As callers send them. */
export const SENT = {
  /** Empty ones count. */
  text: z.string(),
  optionalText: z.string().nullish(),
  extId: z.string().max(MAX_ID_CHARACTERS),
  id: safeInteger,
  optionalId: safeInteger.nullish(),
  optionalIds: z.array(safeInteger).nullish(),
  /** A URL by `URL.canParse`, `native:agents/<type>` included. */
  url: z
    .string()
    .refine((value) => URL.canParse(value), { error: 'expected a URL' })
    .meta({ format: 'uri' }),
  object: jsonObject,
  optionalObject: jsonObject.nullish(),
} satisfies FieldTypes

/** As they may be stored: by an earlier version, which refused less. */
const STORED: FieldTypes = {
  text: z.string(),
  optionalText: z.string().nullish(),
  extId: z.string(),
  id: z.number(),
  optionalId: z.number().nullish(),
  optionalIds: z.array(z.number()).nullish(),
  url: z.string(),
  object: jsonObject,
  optionalObject: z.unknown().optional(),
}

/**
 * A document by its fields: the `body` as callers send it, unknown keys refused, and what is read of one that is
 * `stored`, whichever version stored it.
 */
export function documentOf<Shape extends z.ZodRawShape>(fields: (types: FieldTypes) => Shape) {
  return {
    body: z.strictObject(fields(SENT)),
    stored: z.looseObject({ _id: z.number(), ...fields(STORED) }),
  }
}
