import type { FaultSystem, RoundSystem } from './fault-system.ts'

/** What a fault is done to, besides the system. */
export interface Surroundings<S extends RoundSystem = FaultSystem> {
  system: S
  /** The phone numbers that the load sends from. */
  phoneNumberIds: string[]
}

/** Something that goes wrong, and is over when `strike` returns. */
export interface InjectedFault<S extends RoundSystem = FaultSystem> {
  /** What happens to whom, as `kill redis`. */
  name: string
  /** Whether callers may lose their connections or wait for their time-out meanwhile. */
  cutsCallers?: boolean
  /** Returns the moment from which recovery counts, by `performance.now()`. */
  strike(surroundings: Surroundings<S>): Promise<number>
  /** Takes away what the fault needed, when all is judged. */
  cleanUp?(surroundings: Surroundings<S>): Promise<void>
}
