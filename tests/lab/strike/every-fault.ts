import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { installPackages } from '@parley/local/servers/apt'
import { SetupError } from '@parley/local/setup-error'
import { chance } from '@parley/local/simulator/behaviours'
import { misbehave } from '@parley/local/simulator/client'
import type { FaultSystem, RoundSystem, Target } from '../system/proxied-system.ts'
import { alarm, clockJump } from './clocks-and-alarms.ts'
import { cut, type InjectedFault, kill, restart, slow, suspend } from './faults.ts'

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

/** How many random faults, or for how many milliseconds. */
interface Budget {
  count?: number
  ms?: number
}

const MS = { s: 1_000, m: 60_000, h: 3_600_000 }

/** Reads `6`, `90s`, `30m` or `2h`. */
export function budgetOf(text: string): Budget {
  const unit = text.at(-1) as keyof typeof MS
  return unit in MS ? { ms: Number.parseInt(text, 10) * MS[unit] } : { count: Number(text) }
}

/** Every fault once, then random ones; with `names` only those whose name contains one of them, once each. */
export function* faultSequence(options: {
  all: InjectedFault[]
  names: string[]
  budget: Budget
  seed: number
}): Iterable<InjectedFault> {
  const { all, names, budget, seed } = options
  if (names.length > 0) return yield* all.filter(({ name }) => names.some((part) => name.includes(part)))
  yield* all
  const { count = Number.POSITIVE_INFINITY, ms = Number.POSITIVE_INFINITY } = budget
  const began = performance.now()
  for (let turn = 0; turn < count && performance.now() - began < ms; turn++) {
    const fault = all[Math.floor(chance(seed, turn) * all.length)]
    if (fault !== undefined) yield fault
  }
}
