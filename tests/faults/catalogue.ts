import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { installPackages } from '@parley/local/servers/apt'
import { SetupError } from '@parley/local/setup-error'
import { misbehave } from '@parley/local/simulator/client'
import { alarm } from './broker-alarm.ts'
import { clockJump } from './clock-faults.ts'
import type { InjectedFault } from './fault.ts'
import type { FaultSystem, RoundSystem, Target } from './fault-system.ts'
import { cut, slow } from './network-faults.ts'
import { kill, restart, suspend } from './process-faults.ts'

/** Where Debian and Ubuntu put it (package `libfaketime`). */
const FAKETIME = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/faketime/libfaketimeMT.so.1`
/** Within what the verifiers of tokens forgive, and far beyond. */
const JUMPS: readonly { victim: Target; seconds: number }[] = [
  { victim: 'gateway', seconds: 300 },
  { victim: 'gateway', seconds: -300 },
  { victim: 'identity', seconds: 300 },
  { victim: 'webhook', seconds: -300 },
  { victim: 'dispatcher', seconds: 3_600 },
  { victim: 'campaigns', seconds: 3_600 },
  { victim: 'services', seconds: 300 },
  { victim: 'services', seconds: -300 },
]

/** A load without a fault: what the others are measured against. */
export const NO_FAULT: InjectedFault<RoundSystem> = { name: 'none', strike: async () => performance.now() }

/** Every fault of these targets once; those of the clock only where libfaketime is there. */
export function allFaults({ targets }: Pick<FaultSystem, 'targets'>): InjectedFault[] {
  const jumps = JUMPS.filter(({ victim }) => targets.includes(victim))
  return [
    ...targets.map(kill),
    ...targets.map(restart),
    ...targets.map(cut),
    ...targets.map(slow),
    ...targets.map(suspend),
    alarm('memory'),
    alarm('disk'),
    ...PROVIDER_FAULTS,
    ...(existsSync(FAKETIME) ? jumps.map((jump) => clockJump({ ...jump, library: FAKETIME })) : []),
  ]
}

/** Installs libfaketime where it is missing; says so when that can't be done. */
export async function installFaketime(options: {
  directory: string
  say(line: string): void
}): Promise<void> {
  if (existsSync(FAKETIME)) return
  const { signal } = new AbortController()
  await installPackages(['libfaketime'], { ...options, ports: {}, signal }).catch((error: unknown) => {
    if (!(error instanceof SetupError)) throw error
    options.say(`The clock faults are left out. ${error.message}`)
  })
}

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
const PROVIDER_FAULTS: InjectedFault[] = Object.entries(BEHAVIOURS).map(([name, behaviour]) => ({
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
