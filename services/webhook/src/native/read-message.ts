import { unstorable } from '@parley/shared/json-body'
import { postedMessage, type WebhookMessage } from '@parley/shared/message'
import { Problem } from '@parley/shared/problem'
import { validate } from '@parley/shared/validate'
import type { Request } from 'express'
import { z } from 'zod'
import type { BodyBudget } from '../body/body-budget.ts'
import { parseBytes, readBody } from '../body/read-body.ts'
import { audioSpan } from './audio-span.ts'

const MIB = 1024 * 1024
const MAX_BYTES = MIB
const MAX_AUDIO_BYTES = 16 * MIB
// A character of audio may be written as an escape.
const MAX_AUDIO_WRITTEN = 22 * MIB
const TYPE = 'application/json'
const compiledMessage = z.compile(postedMessage)
const USUAL_TYPES = [TYPE, `${TYPE}; charset=utf-8`]

/** Reads the bytes of a message, at once where they are there. Throws whatever `readBody` does. */
export function readMessage(
  req: Request,
  options: { timeoutMs: number; budget: BodyBudget; sender: string },
): Buffer | Promise<Buffer> {
  requireJson(req)
  return readBody(req, { ...options, maxBytes: MAX_BYTES + MAX_AUDIO_WRITTEN, inflate: true })
}

/**
 * The message in a body: 1 MiB without its `audio`, which may have 16 MiB. Throws `body_too_large`,
 * `malformed_json`, `too_deep` and `validation_failed`.
 */
export function parseMessage(bytes: Buffer): WebhookMessage {
  if (bytes.length > MAX_BYTES) requireAudioMakesIt(bytes)
  const body = parseBytes(bytes)
  const fieldErrors = unstorable(body)
  if (fieldErrors.length > 0) throw new Problem('validation_failed', { errors: fieldErrors })
  const message = validate(compiledMessage, body)
  if (Buffer.byteLength(message.audio ?? '') > MAX_AUDIO_BYTES) throw tooLarge()
  return message
}

function requireJson(req: Request): void {
  if (USUAL_TYPES.includes(req.headers['content-type'] ?? '')) return
  const hasBody = req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length']) > 0
  const charset = /;\s*charset="?([\w-]+)/i.exec(req.headers['content-type'] ?? '')?.[1] ?? 'utf-8'
  if (hasBody && (!req.is(TYPE) || charset.toLowerCase() !== 'utf-8'))
    throw new Problem('unsupported_media_type', { detail: `Send ${TYPE}.` })
}

/** Before it is parsed: what else is large would cost memory and time. */
function requireAudioMakesIt(bytes: Buffer): void {
  const audio = audioSpan(bytes)
  if (bytes.length - audio > MAX_BYTES || audio > MAX_AUDIO_WRITTEN) throw tooLarge()
}

function tooLarge(): Problem {
  return new Problem('body_too_large', { detail: 'A message may have 1 MiB, and its audio 16 MiB.' })
}
