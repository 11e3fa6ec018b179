import { defined } from '@parley/shared/defined'
import type { z } from 'zod'
import { type PersonRecord, PURPOSES, type Purpose } from '../store/person-record.ts'
import type { personView } from './person-schema.ts'

type PersonView = z.output<typeof personView>

/** A person as callers see it. */
export function viewOf(person: PersonRecord): PersonView {
  const { _id, addresses, name, language, timeZone, attributes, tags, lastContactAt } = person
  return {
    ...{ _id, addresses },
    ...defined({ name, language, timeZone }),
    ...{ attributes, tags },
    consent: consentView(person),
    ...defined({ lastContactAt: lastContactAt?.toISOString() }),
    createdAt: person.createdAt.toISOString(),
    updatedAt: person.updatedAt.toISOString(),
  }
}

/** Returns the view of the known consent for each purpose. */
export function consentView({ consent }: Pick<PersonRecord, 'consent'>): PersonView['consent'] {
  const one = (purpose: Purpose) => {
    const said = consent[purpose]
    if (said === undefined) return { status: 'unknown' as const }
    const { status, at, source, text } = said
    return { status, at: at.toISOString(), source, ...defined({ text }) }
  }
  return Object.fromEntries(PURPOSES.map((purpose) => [purpose, one(purpose)])) as PersonView['consent']
}
