import { addressKey } from '@parley/shared/addresses'
import { channelNotice, NOTICE_TYPE } from '@parley/shared/channel-notice'
import type { ConfirmedIds } from '@parley/shared/idempotency'
import { unstorable } from '@parley/shared/json-body'
import type { Log } from '@parley/shared/log'
import { MAX_ID_CHARACTERS } from '@parley/shared/message'
import { messageStatus } from '@parley/shared/message-status'
import {
  derivedMessageId,
  type MessagePublication,
  messagePublication,
  noticePublication,
  type Provenance,
  statusPublication,
  traceparentOf,
} from '@parley/shared/messaging/message-publication'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { type Route, route } from '@parley/shared/openapi/route'
import { parseExact, parseJson } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import type { Inbound, Update } from '@parley/shared/providers/inbound'
import { isJsonObject } from '@parley/shared/providers/own'
import type { Settings } from '@parley/shared/providers/setting'
import type { SecretBox } from '@parley/shared/sealed-value'
import { withTimeout } from '@parley/shared/with-timeout'
import type { Request, Response } from 'express'
import type { Counter } from 'prom-client'
import { z } from 'zod'
import type { BodyBudget } from '../body/body-budget.ts'
import { parseBytes, readBody } from '../body/read-body.ts'
import { type Channel, type Channels, receiveSettings } from '../channels.ts'
import type { HookLog } from '../hooks/hook-notes.ts'
import type { People } from '../people/people.ts'
import type { FindHook, Hook } from './find-hook.ts'
import { findReceivers, type Receivers } from './find-receivers.ts'
import { hookAddress } from './handshake.ts'
import { type Placed, placesOf } from './places.ts'
import { isProven } from './proof.ts'

const MAX_BYTES = 3 * 1024 * 1024
const MAX_UPDATES = 10_000
// As many as 3 MB can have: what was written before a number was connected comes in thousands. The proof comes first.
const MAX_MEMBERS = 200_000
// Together with what Redis may take afterwards, the answer is there within 5 s of the body.
const ACCEPT_MS = 3_700
const MAX_NAMED = 20
/** The error that is noted for updates that can't be read. */
const SKIPPED = 'updates_skipped'

export interface ProviderIntake {
  findHook: FindHook
  people: Pick<People, 'claim' | 'note'>
  channels: Pick<Channels, 'ofReceiver'>
  notes: HookLog
  publisher: Pick<Publisher, 'publish'>
  confirmedIds: ConfirmedIds
  box: Pick<SecretBox, 'open'>
  budgets: { unsigned: BodyBudget }
  bodyTimeoutMs: number
  /** Counts what is left out, by `reason`. */
  skipped: Pick<Counter<'reason'>, 'inc'>
  log: Log
}

const count = z.number().int()
/** Together they are all that the payload had. */
const receipt = z.object({
  accepted: count.describe('New messages and statuses'),
  repeated: count.describe('What had come before'),
  kept: count.describe('New notices of the channel'),
  skipped: count.describe('What can’t be read, and what nothing is done with'),
  foreign: count.describe('What is for no channel of the workspace'),
})

/**
 * A provider's own webhook. Each message, status and notice of a payload that proves to be the provider's becomes one message
 * of the channel that it is for; those that can't be read, whose ids are too long, with which nothing is done, or which are
 * for no channel of the workspace, are counted and left out. 200 once the broker has confirmed all others.
 */
export function receiveRoute(name: string, { documentation }: Inbound): Route<ProviderIntake> {
  const { receive } = documentation
  return route({
    ...hookAddress(name),
    method: 'POST',
    id: `receiveFrom${documentation.name}`,
    summary: receive.summary,
    description: receive.description,
    parameters: [
      ...hookAddress(name).parameters,
      { in: 'header', required: true, schema: z.string(), ...receive.header },
    ],
    body: {
      schema: z.looseObject({}).meta({ id: `${documentation.name}Payload`, ...receive.payload }),
      example: receive.example,
    },
    response: {
      schema: receipt.meta({ id: `${documentation.name}Receipt` }),
      example: { accepted: 1, repeated: 0, kept: 0, skipped: 0, foreign: 0 },
    },
    handle: (intake: ProviderIntake) => {
      const { findHook, bodyTimeoutMs, notes } = intake
      const budget = intake.budgets.unsigned
      return async (req, res) => {
        // Before the body is read: what is for nobody takes no memory.
        const hook = await findHook({ provider: name, ...req.params })
        if (hook === undefined) throw new Problem('not_found')
        const { channel, provider } = hook
        const address = addressKey(String(req.headers['x-forwarded-for']))
        const sender = `${channel.workspace}/${channel._id} from ${address}`
        const limits = { maxBytes: MAX_BYTES, timeoutMs: bodyTimeoutMs, inflate: false, budget, sender }
        const bytes = await readBody(req, limits)
        const deadline = performance.now() + ACCEPT_MS
        const settings = receiveSettings(channel, provider, intake.box)
        requireProof({ req, bytes, hook, settings, notes })
        const updates = updatesIn(bytes, provider)
        const { receivers, failure } = await findReceivers({
          named: new Set(updates.map(({ receiver }) => receiver)),
          ...{ hook, settings, channels: intake.channels },
          isProvenTo: (one) =>
            isProven(provider.inbound.proof(req.headers, receiveSettings(one, provider, intake.box)), bytes),
        })
        for (const one of new Set(receivers.values())) if (one !== undefined) notes.received(one)
        const known = updates.filter(({ receiver }) => receivers.has(receiver))
        const own = known.filter(({ receiver }) => receivers.get(receiver) !== undefined)
        const placing = placesOf(intake.people, { workspace: channel.workspace, updates: own })
        const places = await withTimeout(deadline - performance.now(), placing)
        const { publications, skipped, foreign } = readUpdates({
          ...{ intake, req, res, places, hook, receivers },
          updates: known,
        })
        const fresh = await publishNew(intake, publications, deadline)
        // The known ones are safe by now, and only repeated when all of it comes again.
        if (failure !== undefined) throw failure
        const kept = fresh.filter(({ type }) => type === NOTICE_TYPE).length
        res.json({
          accepted: fresh.length - kept,
          repeated: publications.length - fresh.length,
          kept,
          skipped,
          foreign,
        })
      }
    },
  })
}

/** Throws `forbidden` unless the request is the provider's. */
function requireProof(options: {
  req: Request
  bytes: Buffer
  hook: Hook
  settings: Settings
  notes: HookLog
}): void {
  const { req, bytes, hook, settings, notes } = options
  const { channel, provider } = hook
  const proof = provider.inbound.proof(req.headers, settings)
  if (isProven(proof, bytes)) return
  notes.failed(channel, proof.expected === undefined ? proof.errors.notConfigured : proof.errors.wrong)
  throw new Problem('forbidden', { detail: 'The signature is not one of this channel over this body.' })
}

const isStorable = (value: unknown): boolean => unstorable(value).length === 0

function updatesIn(bytes: Buffer, { inbound }: Hook['provider']): Update[] {
  const read = (parse: typeof parseJson) => {
    const payload = parseBytes(bytes, { maxMembers: MAX_MEMBERS, parse })
    if (!isJsonObject(payload)) throw new Problem('validation_failed', { detail: 'Expected an object.' })
    return inbound.updates(payload, { isStorable })
  }
  const found = read(parseJson)
  // Ids in notices may be numbers that a double rounds; reading those takes longer.
  const updates = found.some(({ fate }) => fate === 'kept') ? read(parseExact) : found
  if (updates.filter(({ kind }) => kind !== 'unknown').length > MAX_UPDATES)
    throw new Problem('body_too_large', { detail: `At most ${MAX_UPDATES} messages and statuses are taken.` })
  return updates
}

function readUpdates(options: {
  intake: ProviderIntake
  req: Request
  res: Response
  updates: readonly Update[]
  places: ReadonlyMap<Update, Placed>
  hook: Hook
  receivers: Receivers
}): { publications: MessagePublication[]; skipped: number; foreign: number } {
  const { intake, req, res, updates, places, hook, receivers } = options
  const { channel, provider } = hook
  const requestId = String(res.locals.requestId)
  const provenanceOf = ({ workspace, _id: channelId }: Channel) => ({
    ...{ workspace, source: provider.inbound.source, channelId, requestId },
    traceparent: traceparentOf(req.headers),
  })
  const read = updates.map((update) => {
    const owner = receivers.get(update.receiver)
    if (owner === undefined) return { path: update.path, reason: 'foreign' } as const
    const origin = { extId: owner.extId, provenance: provenanceOf(owner), placed: places.get(update) }
    const publication = publicationOf(update, origin)
    return typeof publication === 'string' ? { path: update.path, reason: publication } : { publication }
  })
  const left = read.filter((one) => one.reason !== undefined)
  for (const { reason } of left) intake.skipped.inc({ reason })
  const report = (paths: string[], code: string, text: string) => {
    if (paths.length === 0) return
    intake.notes.failed(channel, code)
    const { workspace } = channel
    const named = { paths: paths.slice(0, MAX_NAMED), count: paths.length }
    intake.log.warn({ workspace, channel: channel._id, requestId, ...named }, text)
  }
  const pathsOf = (...reasons: SkipReason[]) =>
    left.filter(({ reason }) => reasons.includes(reason)).map(({ path }) => path)
  const foreign = pathsOf('foreign')
  report(pathsOf('malformed', 'id_too_long'), SKIPPED, 'updates skipped')
  report(foreign, provider.inbound.foreign, 'updates for another channel left out')
  return {
    publications: read.flatMap(({ publication }) => publication ?? []),
    skipped: left.length - foreign.length,
    foreign: foreign.length,
  }
}

/** Publishes what was not confirmed before, in order, and returns it. What failed may come again. */
async function publishNew(
  { publisher, confirmedIds }: ProviderIntake,
  publications: MessagePublication[],
  deadline: number,
): Promise<MessagePublication[]> {
  const byId = new Map(publications.map((one) => [one.messageId, one]))
  const before = await confirmedIds.among([...byId.keys()])
  for (const id of before) byId.delete(id)
  const pending = [...byId.values()]
  const results = await Promise.allSettled(pending.map((one) => publisher.publish(one, deadline)))
  const confirmed = pending.filter((_one, at) => results[at]?.status === 'fulfilled')
  await confirmedIds.add(confirmed.map(({ messageId }) => messageId))
  const failure = results.find((result) => result.status === 'rejected')
  if (failure !== undefined) throw failure.reason
  return pending
}

/**
 * Why an update is left out: it is for no channel of the workspace, can't be read or stored, one of its ids has more than
 * 1,024 characters, or nothing is done with what it is about.
 */
type SkipReason = 'foreign' | 'malformed' | 'id_too_long' | 'counted'

/** An update as it is published, or why it is not. */
function publicationOf(
  update: Update,
  { extId, provenance, placed }: { extId: string; provenance: Provenance; placed: Placed | undefined },
): MessagePublication | SkipReason {
  if (update.fate === 'malformed' || update.fate === 'counted') return update.fate
  if (!isStorable(update.raw)) return 'malformed'
  const { source, workspace } = provenance
  const origin = { source, workspace, channel: extId }
  if (update.kind === 'status') {
    const { data: status } = messageStatus.safeParse({ workspace, channel: extId, ...update.status })
    if (status === undefined) return 'malformed'
    if (areTooLong(status.providerId, status.opaque, status.recipient)) return 'id_too_long'
    const messageId = derivedMessageId({ ...origin, id: status.providerId, status: status.status })
    return statusPublication({ messageId, status, provenance })
  }
  if (update.kind === 'notice') {
    const { identity: id, ...reported } = update.notice
    const { data: notice } = channelNotice.safeParse({ workspace, channel: extId, ...reported })
    if (notice === undefined) return 'malformed'
    return noticePublication({ messageId: derivedMessageId({ ...origin, id }), notice, provenance })
  }
  const { id } = update
  if (placed === undefined) throw new Error('each accepted message has a place')
  const { message: said, ...place } = placed
  const message = { extId, ...said }
  if (areTooLong(id, place.thread)) return 'id_too_long'
  const body = Buffer.from(JSON.stringify(message))
  const messageId = derivedMessageId({ ...origin, id })
  return messagePublication({ messageId, message, body, provenance, ...place })
}

const areTooLong = (...ids: (string | null | undefined)[]): boolean =>
  ids.some((id) => (id?.length ?? 0) > MAX_ID_CHARACTERS)
