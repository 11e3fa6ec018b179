import type { consentStatus, PublishedConsent, Purpose, SeenPerson } from '@parley/shared/consent'
import type { z } from 'zod'

/** The latest consent of an address for a purpose. The address itself can't be read from it. */
export interface SuppressionRecord {
  /** Workspace, purpose, and a keyed hash of the address. */
  _id: string
  workspace: number
  /** `erased` for whom was erased: what is known of them from before makes nobody of them. */
  purpose: Purpose | 'erased'
  status: z.output<typeof consentStatus>
  source: PublishedConsent['source']
  /** When it was said: what was said earlier, and comes later, changes nothing. */
  at: Date
  /** Of an agreement: it is no longer needed once nothing older can come. */
  expiresAt?: Date
}

/** The key of the hashes, sealed by the environment's. */
export interface SuppressionKey {
  _id: 'key'
  sealed: string
}

/** A change of consent that is stored, and that others are still to be told of. */
export type UnpublishedConsent = Omit<PublishedConsent, 'id' | 'at'> & { _id: string; at: Date }

/** The same of who is elsewhere now. */
export type UnpublishedMove = Pick<SeenPerson, 'workspace' | 'addresses'> & {
  _id: string
  left: string[]
  at: Date
}
