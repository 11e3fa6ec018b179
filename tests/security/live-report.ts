import type { RotationResult } from './key-rotation.ts'
import { percentile } from './percentile.ts'
import type { StallResult } from './registration-stall.ts'
import type { SteadyLoadResult } from './steady-load.ts'

const LABEL = 52
const FIGURE = 12
const REVOCATION_LIMIT_MS = 2_000
const STALL_MS = 50

interface LiveResult {
  load: SteadyLoadResult
  rotation: RotationResult
  /** When the last call was let through, in milliseconds after each revocation. */
  revocations: { tokens: number[]; sessions: number[] }
  stall: StallResult
}

/** The figures as a table, and whether each is within its bound. */
export function liveReport({ load, rotation, revocations, stall }: LiveResult) {
  const refused = [...load.refused.values()].reduce((sum, times) => sum + times, 0)
  const token = Math.max(...revocations.tokens)
  const session = Math.max(...revocations.sessions)
  const stalled = stall.registering.p99
  const passed =
    refused === 0 && token < REVOCATION_LIMIT_MS && session < REVOCATION_LIMIT_MS && stalled <= STALL_MS
  const text = [
    '',
    row('Load', ''),
    row('  requests', String(load.sent)),
    row('  a second', (load.sent / load.seconds).toFixed(1)),
    row('  refused or failed (bound 0)', String(refused)),
    ...[...load.refused].map(([reason, times]) => row(`    ${reason}`, String(times))),
    row('  latency p50', ms(percentile(load.latencies, 0.5))),
    row('  latency p99', ms(percentile(load.latencies, 0.99))),
    row(`Rotation${rotation.forced ? ' (--force: the last one is recent)' : ''}`, ''),
    row('  new tokens signed by the next key after', ms(rotation.followedAfterMs)),
    row('  tokens of the old key first used after it', String(rotation.oldTokens)),
    row('  tokens of the new key used', String(rotation.newTokens)),
    row(`Revocation, last call let through, of ${revocations.tokens.length} each`, ''),
    row('  API token (bound 2,000 ms)', ms(token)),
    row('  session (bound 2,000 ms)', ms(session)),
    row('Delay of identity’s event loop (5 ms is none)', ''),
    row('  p99 without registrations', ms(stall.alone.p99)),
    row('  p99 beside 8 registrations at a time (bound 50 ms)', ms(stalled)),
    row('  longest', ms(stall.registering.max)),
    row('  p99 of this process meanwhile', ms(stall.own)),
    row('  registrations', String(stall.registrations)),
    '',
    passed ? 'All within bounds.' : 'NOT within bounds.',
    ...(stall.own > STALL_MS / 2 ? ['The machine is too busy for the delay to say much.'] : []),
  ].join('\n')
  return { text, passed }
}

const row = (label: string, figure: string): string => label.padEnd(LABEL) + figure.padStart(FIGURE)
const ms = (value: number): string => `${value.toFixed(1)} ms`
