import { jsonBody } from '@parley/shared/json-body'
import type { RequestHandler } from 'express'

const MAX_BYTES = 64 * 1024

/** Reads the JSON body of a request below `/api/auth`; at most 64 KiB. */
export const authBody = (): RequestHandler => jsonBody({ maxBytes: MAX_BYTES })
