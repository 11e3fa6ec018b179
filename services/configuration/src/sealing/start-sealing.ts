import { every } from '@parley/shared/every'
import type { Log } from '@parley/shared/log'
import type { SecretBox } from '@parley/shared/sealed-value'
import { allResources } from '../resources/all-resources.ts'
import type { DocumentSecrets } from '../secrets/seal-fields.ts'
import type { Database } from '../store/database.ts'
import { createSealingState, type SealingState } from '../store/sealing-state.ts'
import { type Sealed, sealStored } from './seal-stored.ts'

/** How often it is looked whether all may be sealed, until it may. */
const LOOK_MS = 2_000
/** An instance of the release before may have written meanwhile. */
const AGAIN_MS = 5 * 60_000
/** Milliseconds by which clocks may differ, plus the time that a process may take to write. */
const MARGIN_MS = 15 * 60_000

interface Sealing {
  /** For what is written from now on. */
  secrets: DocumentSecrets
  stop(): Promise<void>
}

/**
 * Sees to it that every secret is sealed. `isReadByEarlier` says whether a service of the release before is there, which
 * can't open all of what this one seals: as long as it is, secrets that it can't open are stored as they were sent. Once
 * it has been false twice (once, where nothing is stored yet), what is stored in the clear is sealed: by one instance at a time, at each start, and again
 * until nothing is found.
 */
export function startSealing(options: {
  database: Database
  secrets: SecretBox
  isReadByEarlier(): Promise<boolean>
  log: Log
}): Sealing {
  const { database, secrets, log } = options
  const state = createSealingState(database.sealing)
  let isAll = false
  let pauseMs = LOOK_MS
  let absences = 0
  let isDone = false
  const mayAll = async (): Promise<boolean> => {
    if ((await state.read()).all === true) return true
    absences = (await options.isReadByEarlier()) ? 0 : absences + 1
    if (absences === 0 || (absences < 2 && !(await isEmpty(database)))) return false
    await state.sealAll()
    return true
  }
  const looking = every({
    pauseMs: () => pauseMs,
    run: async (signal) => {
      await Promise.race([database.ready, aborted(signal)])
      if (signal.aborted || isDone) return
      isAll ||= await mayAll()
      if (!isAll) return
      const sealed = await lookThrough({ database, secrets, state, signal })
      if (sealed === undefined) return
      pauseMs = AGAIN_MS
      const found = sealed.documents + sealed.history
      if (found > 0) log.info(sealed, 'secrets sealed that were stored in the clear')
      else isDone = true
    },
    failed: ({ message: reason }) =>
      log.warn({ reason }, 'secrets not sealed that may be stored in the clear'),
  })
  return { secrets: { ...secrets, sealsAll: () => isAll }, stop: looking.stop }
}

/** A new system has no release before. */
async function isEmpty(database: Database): Promise<boolean> {
  for (const { name } of allResources)
    if ((await database.documents(name).findOne({}, { projection: { _id: 1 } })) !== null) return false
  return true
}

class BrokenOff extends Error {}

/** Undefined while another instance does it, or when it was broken off. */
async function lookThrough(options: {
  database: Database
  secrets: SecretBox
  state: SealingState
  signal: AbortSignal
}): Promise<Sealed | undefined> {
  const { database, secrets, state, signal } = options
  const goOn = async () => {
    if (signal.aborted || !(await state.lease.acquire())) throw new BrokenOff()
  }
  try {
    await goOn()
    const { lookedAt } = await state.read()
    const beganAt = new Date().toISOString()
    const since = lookedAt && new Date(Date.parse(lookedAt) - MARGIN_MS).toISOString()
    const sealed = await sealStored({ database, secrets, since, goOn })
    await state.looked(beganAt)
    await state.lease.release()
    return sealed
  } catch (error) {
    if (error instanceof BrokenOff) return undefined
    throw error
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
