import { CONSENT_PAYLOADS } from '@parley/shared/consent'
import type { WebhookMessage } from '@parley/shared/message'
import type { ReceivedContent } from '@parley/shared/providers/inbound'
import type { MessageRecord } from '../message/message-record.ts'
import type { WordsOfWorkspace } from './consent-words.ts'
import type { RecordConsent } from './record-consent.ts'
import type { ReportMoves } from './report-moves.ts'
import { type ConsentSaid, MAX_WORD, statusSaid } from './words.ts'

/** A message that may say something of consent, or says that its person is elsewhere now. */
export interface SaidMessage {
  message: Pick<MessageRecord, '_id' | 'workspace' | 'addresses' | 'receivedAt'>
  said?: ConsentSaid | undefined
  /** Addresses that the person has left. */
  left?: readonly string[] | undefined
  /** By the provider's clock. */
  writtenAt?: Date | undefined
}

/** Stores what messages say, before anything else is done with them. Rejects while the database is unavailable. */
export type HeedMessages = (messages: readonly SaidMessage[]) => Promise<void>

/** Recognises the words of each workspace. What comes again is the same. */
export function createHeedMessages(options: {
  wordsOf: WordsOfWorkspace
  record: RecordConsent
  reportMoves: ReportMoves
}): HeedMessages {
  const { wordsOf, record, reportMoves } = options
  return async (messages) => {
    await reportMoves(
      messages.flatMap(({ message, left }) => (left === undefined ? [] : { ...message, left })),
    )
    const events = await Promise.all(
      messages.map(async ({ message, said, writtenAt }) => {
        const { _id: id, workspace, addresses = [], receivedAt } = message
        if (said === undefined || addresses.length === 0) return []
        const status = statusSaid(said, await wordsOf(workspace))
        if (status === undefined) return []
        const at = writtenAt !== undefined && writtenAt < receivedAt ? writtenAt : receivedAt
        const source = said.payload === undefined ? ('message' as const) : ('button' as const)
        return {
          id,
          workspace,
          addresses,
          purpose: 'marketing' as const,
          status,
          source,
          text: said.text,
          at,
        }
      }),
    )
    await record(events.flat())
  }
}

/**
 * What of a message without an answer may say something of consent; undefined where nothing does: it is too long, nobody
 * said it now, or it was said in a group.
 */
export function consentSaidIn(
  { input }: Pick<WebhookMessage, 'input'>,
  received: ReceivedContent | undefined,
): ConsentSaid | undefined {
  const { nature, pressed: payload, isOfGroup, isOwn, isPast } = received ?? {}
  if (isOfGroup || isOwn || isPast) return undefined
  if (nature !== undefined && nature.kind !== 'speech' && nature.kind !== 'edit') return undefined
  const text = (nature?.kind === 'edit' ? nature.text : input) ?? ''
  const isKnown = payload !== undefined && Object.hasOwn(CONSENT_PAYLOADS, payload)
  if (!isKnown && (text === '' || text.length > MAX_WORD)) return undefined
  return { text: text.slice(0, MAX_WORD).toWellFormed(), ...(payload !== undefined && { payload }) }
}
