import type { FaultResult } from './kill-each.ts'

const LABEL = 34
const FIGURE = 12

/** The result of a fault run as a table. */
export function faultReport(result: FaultResult): string {
  const { faults, conservation, repeated, slowestArrivalMs, survived } = result
  const { posted, answered, once, doubled, missing, threadsOutOfOrder } = conservation
  return [
    '',
    row('Killed (SIGKILL)', 'ready after'),
    ...faults.map(({ victim, readyAfterMs }) => row(`  ${victim}`, seconds(readyAfterMs))),
    '',
    'Messages',
    row('  posted', count(posted)),
    row('  posts repeated for want of a 200', count(repeated)),
    row('  answered 200', count(answered)),
    row('  of these at the simulator once', count(once)),
    row('  more than once', count(doubled)),
    row('  missing', count(missing)),
    row('  threads out of order', count(threadsOutOfOrder)),
    row('  slowest from 200 to arrival', seconds(slowestArrivalMs)),
    '',
    survived
      ? 'Nothing that was answered with 200 was lost or out of order.'
      : 'Something was lost, late or out of order.',
  ].join('\n')
}

const row = (label: string, figure: string): string => label.padEnd(LABEL) + figure.padStart(FIGURE)
const count = (value: number): string => value.toLocaleString('en-US')
const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`
