import type { Replica } from '@parley/shared/config-replica/replica'
import type { Log } from '@parley/shared/log'
import type { Publisher } from '@parley/shared/messaging/publisher'
import type { SecretBox } from '@parley/shared/sealed-value'
import type { Collections } from '../store/collections.ts'
import { createAddressHash } from './address-hash.ts'
import { createWordsOfWorkspace } from './consent-words.ts'
import { createHeedMessages, type HeedMessages } from './heed-messages.ts'
import { startConsentPublication } from './publish-consent.ts'
import { createRecordConsent, type RecordConsent } from './record-consent.ts'
import { createReportMoves } from './report-moves.ts'
import { createSuppressions, type Suppressions } from './suppressions.ts'

/** The parts that keep consent: the suppressions, and the functions that record changes and tell other services. */
export interface Consent {
  suppressions: Suppressions
  record: RecordConsent
  heed: HeedMessages
  stop(): Promise<void>
}

export function startConsent(options: {
  collections: Pick<Collections, 'suppressions' | 'suppressionKeys' | 'unpublishedConsent' | 'threads'>
  secrets: Pick<SecretBox, 'seal' | 'open' | 'isCurrent'>
  replica: Pick<Replica, 'find'>
  publisher: Pick<Publisher, 'publish'>
  ready: Promise<unknown>
  log: Log
}): Consent {
  const { collections, secrets, replica, publisher, ready, log } = options
  const suppressions = createSuppressions(collections, createAddressHash(collections, secrets))
  const { stored, stop } = startConsentPublication({ collections, publisher, ready, log })
  const record = createRecordConsent({ collections, suppressions, stored })
  const wordsOf = createWordsOfWorkspace({ replica })
  const heed = createHeedMessages({
    ...{ wordsOf, record },
    reportMoves: createReportMoves({ collections, suppressions, stored }),
  })
  return { suppressions, record, heed, stop }
}
