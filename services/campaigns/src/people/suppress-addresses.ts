import { defined } from '@parley/shared/defined'
import type { InternalClient } from '@parley/shared/internal-client'
import { type PersonRecord, PURPOSES } from '../store/person-record.ts'

/** The number of entries that an internal request accepts, for addresses and texts of any length. */
const BATCH = 100

export type Suppressing = Pick<InternalClient, 'post'>

/**
 * Has the addresses of those who have withdrawn consent suppressed where sends are: all where that is new, and where they get
 * further ones. Has to come before they are written. Rejects with `unavailable`.
 */
export async function suppressAddresses(
  dispatcher: Suppressing,
  workspace: number,
  people: readonly { before: PersonRecord | undefined; after: PersonRecord }[],
): Promise<void> {
  const changes = people.flatMap(({ before, after: { addresses, consent } }) => {
    const hasFurther = addresses.some((one) => !before?.addresses.includes(one))
    return PURPOSES.flatMap((purpose) => {
      const said = consent[purpose]
      if (said?.status !== 'withdrawn') return []
      if (!hasFurther && before?.consent[purpose]?.status === 'withdrawn') return []
      const { status, at, text } = said
      const source = said.source === 'import' ? 'import' : 'api'
      return { addresses, purpose, status, source, at: at.toISOString(), ...defined({ text }) }
    })
  })
  for (let at = 0; at < changes.length; at += BATCH)
    await dispatcher.post(`/internal/workspaces/${workspace}/suppressions`, {
      changes: changes.slice(at, at + BATCH),
    })
}
