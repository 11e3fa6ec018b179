import { PURPOSES, type Purpose } from '@parley/shared/consent'
import { providerNamed } from '@parley/shared/providers/registry'
import { addressesIn, addressesOf } from '../message/addresses.ts'
import type { MessageRecord, Send, SendContent } from '../message/message-record.ts'
import { objectIn } from '../message/object-content.ts'
import type { Outcome } from '../message/outcome.ts'
import type { MessageRun } from './message-run.ts'

/**
 * Whether the person of a message has opted out of what a send is. It is read once the send is claimed: who opts out
 * afterwards comes too late for this one, and for no other. Messages that are no templates read nothing. Rejects with
 * `unavailable`.
 */
export function isOptedOut(
  { record, options, calling }: MessageRun,
  { content, purpose }: { content: SendContent; purpose: Purpose | undefined },
): boolean | Promise<boolean> {
  if (!isTemplate(content)) return false
  // A template of unknown purpose may be for either.
  const purposes = purpose === undefined ? PURPOSES : [purpose]
  const { workspace } = record
  const addresses = personOf(record)
  return calling(() => options.suppressions.isOptedOut({ workspace, addresses, purposes }))
}

export function isTemplate(content: SendContent): boolean {
  if (content.kind === 'template') return true
  const object = objectIn(content)
  const templates = object && providerNamed(object.provider)?.outbound.objects?.templates
  return object !== undefined && templates?.includes(object.type) === true
}

/** By all that is known of them: a thread may be called by another address of its person. */
function personOf(record: MessageRecord): string[] {
  const { thread, joined = [] } = record
  const named = [thread, ...joined].flatMap((name) => addressesOf({ phone: name }))
  return [...new Set([...(addressesIn(record) ?? []), ...named])]
}

/**
 * The provider knows that the person wants no marketing: it is stored before the send is settled. Where it can't be, the
 * send stays claimed, and is refused again.
 */
export function noteOptOut(
  { record, options, calling }: MessageRun,
  { id }: Send,
  outcome: Outcome,
): undefined | Promise<void> {
  if (outcome.kind !== 'permanent' || outcome.isOptOut !== true) return undefined
  const event = refusalOf(record, { id, at: new Date(options.now()) })
  return calling(() => options.recordConsent([event]))
}

/** The change of consent that a refused send shows. */
export function refusalOf(record: MessageRecord, { id, at }: { id: string; at: Date }) {
  const { workspace } = record
  return {
    ...{ id: `refused/${id}`, workspace, addresses: addressesIn(record) ?? [], at },
    ...({ purpose: 'marketing', status: 'withdrawn', source: 'refusal' } as const),
  }
}
