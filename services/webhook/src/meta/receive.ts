import { addressKey } from '@parley/shared/addresses'
import type { ConfirmedIds } from '@parley/shared/idempotency'
import { unstorable } from '@parley/shared/json-body'
import type { Log } from '@parley/shared/log'
import { MAX_ID_CHARACTERS } from '@parley/shared/message'
import {
  derivedMessageId,
  type MessagePublication,
  messagePublication,
  type Provenance,
  statusPublication,
  traceparentOf,
} from '@parley/shared/messaging/message-publication'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { Problem } from '@parley/shared/problem'
import type { SecretBox } from '@parley/shared/sealed-value'
import type { Request, RequestHandler, Response } from 'express'
import type { Counter } from 'prom-client'
import type { BodyBudget } from '../body/body-budget.ts'
import { parseBytes, readBody } from '../body/read-body.ts'
import { type Channel, configText } from '../channels.ts'
import type { HookError } from '../database.ts'
import type { HookLog } from '../hooks/hook-notes.ts'
import type { FindHook } from './find-hook.ts'
import { isJsonObject } from './own.ts'
import { type Update, updatesIn } from './payload.ts'
import { isSigned } from './signature.ts'
import { toMessage } from './to-message.ts'
import { toStatus } from './to-status.ts'

const MAX_BYTES = 3 * 1024 * 1024
const MAX_UPDATES = 1_000
// A batch of that many, each with all that Meta may say.
const MAX_MEMBERS = 40_000
// Together with what Redis may take afterwards, the answer is there within 5 s of the body.
const ACCEPT_MS = 3_700
const MAX_NAMED = 20

interface MetaIntake {
  findHook: FindHook
  notes: HookLog
  publisher: Pick<Publisher, 'publish'>
  confirmedIds: ConfirmedIds
  box: Pick<SecretBox, 'open'>
  budget: BodyBudget
  bodyTimeoutMs: number
  /** Counts what is left out, by `reason`. */
  skipped: Pick<Counter<'reason'>, 'inc'>
  log: Log
}

/**
 * POST /api/hooks/whatsapp/{slug}/{channelExtId}: Meta's own webhook. Each message and status of a signed payload
 * becomes one message; those that can't be read, whose ids are too long, or which were written to another number, are counted, named in the log
 * and left out. 200 once the broker has confirmed all others.
 */
export function receive(intake: MetaIntake): RequestHandler {
  const { findHook, budget, bodyTimeoutMs, notes, box } = intake
  return async (req, res) => {
    // Before the body is read: what is for nobody takes no memory.
    const channel = await findHook(req)
    if (channel === undefined) throw new Problem('not_found')
    const address = addressKey(String(req.headers['x-forwarded-for']))
    const sender = `${channel.workspace}/${channel._id} from ${address}`
    const limits = { maxBytes: MAX_BYTES, timeoutMs: bodyTimeoutMs, inflate: false, budget, sender }
    const bytes = await readBody(req, limits)
    const deadline = performance.now() + ACCEPT_MS
    requireSigned({ req, bytes, channel, notes, box })
    notes.received(channel)
    const { publications, skipped, foreign } = readUpdates({ intake, req, res, bytes, channel })
    const repeated = await publishNew(intake, publications, deadline)
    res.json({ accepted: publications.length - repeated, repeated, skipped, foreign })
  }
}

/** Throws `forbidden` unless the body is signed for the channel. */
function requireSigned(options: {
  req: Request
  bytes: Buffer
  channel: Channel
  notes: HookLog
  box: Pick<SecretBox, 'open'>
}): void {
  const { req, bytes, channel, notes, box } = options
  const secret = configText(channel, 'appSecret', box)
  if (isSigned({ bytes, header: req.headers['x-hub-signature-256'], secret })) return
  notes.failed(channel, secret === undefined ? 'app_secret_not_configured' : 'signature_wrong')
  throw new Problem('forbidden', { detail: 'The signature is not one of this channel over this body.' })
}

function readUpdates(options: {
  intake: MetaIntake
  req: Request
  res: Response
  bytes: Buffer
  channel: Channel
}): { publications: MessagePublication[]; skipped: number; foreign: number } {
  const { intake, req, res, bytes, channel } = options
  const payload = parseBytes(bytes, { maxMembers: MAX_MEMBERS })
  if (!isJsonObject(payload)) throw new Problem('validation_failed', { detail: 'Expected an object.' })
  const { updates, malformed } = updatesIn(payload)
  intake.skipped.inc({ reason: 'malformed' }, malformed.length)
  if (updates.length > MAX_UPDATES)
    throw new Problem('body_too_large', { detail: `At most ${MAX_UPDATES} messages and statuses are taken.` })
  const provenance = {
    workspace: channel.workspace,
    source: 'meta',
    channelId: channel._id,
    requestId: String(res.locals.requestId),
    traceparent: traceparentOf(req.headers),
  } as const
  const publications: MessagePublication[] = []
  const foreign: string[] = []
  for (const update of updates) {
    if (isForeign(update, channel)) {
      foreign.push(update.path)
      continue
    }
    const publication = publicationOf(update, { extId: channel.extId, provenance })
    if (typeof publication === 'string') {
      malformed.push(update.path)
      intake.skipped.inc({ reason: publication })
    } else publications.push(publication)
  }
  const report = (paths: string[], code: HookError, text: string) => {
    if (paths.length === 0) return
    intake.notes.failed(channel, code)
    const { workspace, requestId } = provenance
    const named = { paths: paths.slice(0, MAX_NAMED), count: paths.length }
    intake.log.warn({ workspace, channel: channel._id, requestId, ...named }, text)
  }
  intake.skipped.inc({ reason: 'foreign' }, foreign.length)
  report(malformed, 'updates_skipped', 'updates skipped')
  report(foreign, 'foreign_number', "messages to another number than the channel's left out")
  return { publications, skipped: malformed.length, foreign: foreign.length }
}

/**
 * Whether a message was written to another number than the channel's: an app has one address for all of its numbers.
 * Statuses are found by the send that they are about, so they may come here whichever number sent it.
 */
function isForeign({ kind, phoneNumberId }: Update, { config }: Channel): boolean {
  const own = Object.hasOwn(config, 'phoneNumberId') ? config.phoneNumberId : undefined
  if (kind !== 'message' || phoneNumberId === undefined) return false
  return (typeof own === 'string' || typeof own === 'number') && own !== '' && String(own) !== phoneNumberId
}

/** Publishes what was not confirmed before, in order; returns how many were. What failed may come again. */
async function publishNew(
  { publisher, confirmedIds }: MetaIntake,
  publications: MessagePublication[],
  deadline: number,
): Promise<number> {
  const byId = new Map(publications.map((one) => [one.messageId, one]))
  const before = await confirmedIds.among([...byId.keys()])
  for (const id of before) byId.delete(id)
  const pending = [...byId.values()]
  const results = await Promise.allSettled(pending.map((one) => publisher.publish(one, deadline)))
  const confirmed = pending.filter((_one, at) => results[at]?.status === 'fulfilled')
  await confirmedIds.add(confirmed.map(({ messageId }) => messageId))
  const failure = results.find((result) => result.status === 'rejected')
  if (failure !== undefined) throw failure.reason
  return publications.length - pending.length
}

/** Why an update is left out: it can't be read or stored, or one of its ids has more than 1,024 characters. */
type SkipReason = 'malformed' | 'id_too_long'

/** An update as it is published, or why it is not. */
function publicationOf(
  { kind, raw, contacts }: Update,
  { extId, provenance }: { extId: string; provenance: Provenance },
): MessagePublication | SkipReason {
  if (unstorable(raw).length > 0) return 'malformed'
  const origin = { source: 'meta', workspace: provenance.workspace, channel: extId } as const
  if (kind === 'status') {
    const status = toStatus({ workspace: provenance.workspace, channel: extId, raw })
    if (status === undefined) return 'malformed'
    if (areTooLong(status.providerId, status.opaque, status.recipient)) return 'id_too_long'
    const messageId = derivedMessageId({ ...origin, id: status.providerId, status: status.status })
    return statusPublication({ messageId, status, provenance })
  }
  const read = toMessage({ extId, raw, contacts })
  if (read === undefined) return 'malformed'
  if (areTooLong(read.id, read.message.thread.extId)) return 'id_too_long'
  const body = Buffer.from(JSON.stringify(read.message))
  const messageId = derivedMessageId({ ...origin, id: read.id })
  return messagePublication({ messageId, message: read.message, body, provenance })
}

const areTooLong = (...ids: (string | null | undefined)[]): boolean =>
  ids.some((id) => (id?.length ?? 0) > MAX_ID_CHARACTERS)
