import { setTimeout as pause } from 'node:timers/promises'
import { misbehave } from '@parley/local/simulator/client'
import type { InjectedFault } from './fault.ts'

const TROUBLED_MS = 8_000
const SEED = 7

const BEHAVIOURS = {
  'is slower than the time-out': { stalls: [{ ms: 12_000, share: 0.05 }] },
  'drops answers': { dropAnswers: [{ share: 0.2 }] },
  'repeats statuses': { repeats: true, reads: true },
  'reorders statuses': { reorders: true, reads: true },
  'refuses for now': { failures: [{ status: 500, code: 131000, share: 0.1 }] },
}

/** The provider misbehaves for 8 s, each way in a fault of its own. */
export const PROVIDER_FAULTS: InjectedFault[] = Object.entries(BEHAVIOURS).map(([name, behaviour]) => ({
  name: `provider ${name}`,
  async strike({ system, phoneNumberIds }) {
    const { simulatorUrl } = system
    const setAll = (changes: object) =>
      Promise.all(
        phoneNumberIds.map((phoneNumberId) =>
          misbehave({ simulatorUrl, phoneNumberId, behaviour: { seed: SEED, ...changes } }),
        ),
      )
    await setAll(behaviour)
    await pause(TROUBLED_MS)
    await setAll({})
    return performance.now()
  },
}))
