import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { consentStatus, PURPOSES, type Purpose } from '@parley/shared/consent'
import { defined } from '@parley/shared/defined'
import { validate } from '@parley/shared/validate'
import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import type { Author } from '../store/author.ts'
import { addToHistory, endedFileEntries } from '../store/consent-history.ts'
import { noteOptOut } from '../store/note-opt-out.ts'
import type { Consent, PersonRecord } from '../store/person-record.ts'
import { consentView } from './view.ts'

const MAX_TEXT = 1_024

/** A consent that was read can be sent back with another status: its time and source are set by the service. */
const given = z.strictObject({
  status: consentStatus,
  text: z.string().max(MAX_TEXT).optional(),
  at: z.unknown().optional(),
  source: z.unknown().optional(),
})
const consentPatch = z.object({
  consent: z.strictObject({ marketing: z.unknown().optional(), service: z.unknown().optional() }),
})

type Changes = Partial<Record<Purpose, Consent>>

/** The changes of consent that a body asks for; what is as it is stored is none. Throws `validation_failed`. */
export function consentChangesIn(
  person: Pick<PersonRecord, 'consent'>,
  body: { consent?: unknown },
  now = new Date(),
): Changes {
  if (body.consent === undefined) return {}
  const { consent } = validate(consentPatch, { consent: body.consent })
  const stored = consentView(person)
  const changes: Changes = {}
  for (const purpose of PURPOSES) {
    const one = consent[purpose]
    if (one === undefined || isDeepStrictEqual(one, stored[purpose])) continue
    const shape = z.object({ consent: z.object({ [purpose]: given }) })
    const { status, text } = validate(shape, { consent: { [purpose]: one } }).consent[purpose] ?? {}
    if (status !== undefined) changes[purpose] = { status, at: now, source: 'api', ...defined({ text }) }
  }
  return changes
}

/**
 * Stores changes of consent where sends are, so that they count, and then in the history; the person is written by whoever
 * asks. Rejects with `unavailable`: then nothing has changed for callers.
 */
export async function storeConsent(
  { connection, dispatcher }: Pick<Dependencies, 'connection' | 'dispatcher'>,
  person: PersonRecord,
  { changes, by }: { changes: Changes; by: Author },
): Promise<void> {
  const { _id, workspace, addresses, joined = [] } = person
  const suppressions = PURPOSES.flatMap((purpose) => {
    const one = changes[purpose]
    if (one === undefined) return []
    const { status, text, at } = one
    return { addresses, purpose, status, source: 'api', at: at.toISOString(), ...defined({ text }) }
  })
  if (suppressions.length === 0) return
  const path = `/internal/workspaces/${workspace}/suppressions`
  await dispatcher.post(path, { changes: suppressions })
  const entries = PURPOSES.flatMap((purpose) => {
    const change = changes[purpose]
    return change === undefined ? [] : { _id: randomUUID(), workspace, person: _id, purpose, by, ...change }
  })
  const before = endedFileEntries(person, { consent: { ...person.consent, ...changes } })
  await addToHistory(connection, ...entries, ...before)
  const { marketing } = changes
  if (marketing?.status === 'withdrawn')
    await noteOptOut(connection, { workspace, people: [_id, ...joined], at: marketing.at })
}
