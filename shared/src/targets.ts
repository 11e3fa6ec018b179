/** The copies of a service. */
export interface Targets {
  /** The next one in turn that seems to be alive; any when none does. */
  next(): URL
  /** Leaves one out for a while, because it could not be reached. */
  suspect(target: URL): void
}

const LEFT_OUT_MS = 2_000

/** Takes `urls` in turn; one that could not be reached is left out for 2 s. */
export function roundRobin(urls: readonly URL[], now: () => number = () => performance.now()): Targets {
  const until = new Map<string, number>()
  let turn = 0
  return {
    next() {
      const alive = urls.filter(({ host }) => (until.get(host) ?? 0) <= now())
      const candidates = alive.length === 0 ? urls : alive
      turn = (turn + 1) % candidates.length
      return candidates[turn] as URL
    },
    suspect: ({ host }) => void until.set(host, now() + LEFT_OUT_MS),
  }
}
