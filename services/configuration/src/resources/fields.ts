import { safeInteger } from '@parley/shared/json-object'
import { MAX_ID_CHARACTERS } from '@parley/shared/message'
import { z } from 'zod'

/** A required string; empty ones count. */
export const text = z.string()
/** What messages name a channel or a thread by. */
export const extId = z.string().max(MAX_ID_CHARACTERS)
export const optionalText = z.string().nullish()

/** The id of another document, whether or not there is one. */
export const id = safeInteger
export const optionalId = safeInteger.nullish()
export const optionalIds = z.array(safeInteger).nullish()

/** What `URL.canParse` takes, `native:agents/<type>` included. */
export const url = z
  .string()
  .refine((value) => URL.canParse(value), { error: 'expected a URL' })
  .meta({ format: 'uri' })
