import { chance } from '@parley/local/simulator/behaviours'
import type { InjectedFault } from './fault.ts'

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
