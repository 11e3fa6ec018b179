import { existsSync } from 'node:fs'
import { alarm } from './broker-alarm.ts'
import { clockJump } from './clock-faults.ts'
import type { Fault } from './fault.ts'
import { TARGETS } from './fault-system.ts'
import { cut, slow } from './network-faults.ts'
import { kill, restart, suspend } from './process-faults.ts'
import { PROVIDER_FAULTS } from './provider-faults.ts'

/** Where Debian and Ubuntu put it (package `libfaketime`). */
const FAKETIME = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/faketime/libfaketimeMT.so.1`
/** Within what the verifiers of tokens forgive, and far beyond. */
const JUMPS = [
  { victim: 'gateway', seconds: 300 },
  { victim: 'gateway', seconds: -300 },
  { victim: 'identity', seconds: 300 },
  { victim: 'webhook', seconds: -300 },
  { victim: 'dispatcher', seconds: 3_600 },
] as const

/** A load without a fault: what the others are measured against. */
export const NO_FAULT: Fault = { name: 'none', strike: async () => performance.now() }

/** Every fault once. */
export const FAULTS: Fault[] = [
  ...TARGETS.map(kill),
  ...TARGETS.map(restart),
  ...TARGETS.map(cut),
  ...TARGETS.map(slow),
  ...TARGETS.map(suspend),
  alarm('memory'),
  alarm('disk'),
  ...PROVIDER_FAULTS,
  ...(existsSync(FAKETIME) ? JUMPS.map((jump) => clockJump({ ...jump, library: FAKETIME })) : []),
]

/** Whether the clock faults can be had here. */
export const hasClockFaults = existsSync(FAKETIME)
