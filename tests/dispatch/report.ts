import type { Reconciliation } from '@parley/local/demo/reconciliation'
import type { AgentRun } from './agents.ts'
import type { KillRun } from './kills.ts'
import type { ReplayRun } from './replay.ts'
import { PER_SECOND, type SendRateRun } from './send-rate.ts'

const LABEL = 40
const FIGURE = 14

export function killTable(run: KillRun): string {
  const { kills, reconciliation, states, repeatedPosts, rpcRepeats, arrival, passed } = run
  return [
    '',
    row('Killed (SIGKILL)', 'ready after', 'taken over', 'longest silence'),
    ...kills.map(({ victim, readyAfterMs, takenOverAfterMs, longestSilenceMs }) =>
      row(`  ${victim}`, seconds(readyAfterMs), seconds(takenOverAfterMs), seconds(longestSilenceMs)),
    ),
    '',
    'Messages',
    ...reconciliationRows(reconciliation),
    row('  posts repeated for want of a 200', count(repeatedPosts)),
    row('  RPC calls repeated under their id', count(rpcRepeats)),
    ...stateRows(states),
    row('  from 200 to arrival, median', seconds(arrival.median)),
    row('  from 200 to arrival, slowest', seconds(arrival.slowest)),
    row('  the whole run', seconds(run.seconds * 1_000)),
    '',
    passed ? 'Nothing was lost, doubled or out of order.' : 'Something was lost, doubled or out of order.',
  ].join('\n')
}

export function agentsTable(run: AgentRun): string {
  const { kills, reconciliation, ended, functions, model, states, repeatedPosts, arrival, verdict } = run
  return [
    '',
    'Killed (SIGKILL)',
    ...[...Map.groupBy(kills, ({ victim }) => victim)].map(([victim, { length }]) =>
      row(`  ${victim}`, count(length)),
    ),
    '',
    'Conversations',
    row('  in all', count(ended.conversations)),
    row('  their last text arrived once', count(ended.once)),
    '',
    'Messages of people, each to get one text',
    ...reconciliationRows(reconciliation),
    row('  texts without a receipt', count(ended.unreadable)),
    row('  posts repeated for want of a 200', count(repeatedPosts)),
    ...stateRows(states),
    row('  from 200 to the text, median', seconds(arrival.median)),
    row('  from 200 to the text, slowest', seconds(arrival.slowest)),
    '',
    'Functions',
    row('  with their effect once, by the ledger of their server', count(functions.once)),
    row('  with their effect twice', count(functions.doubled)),
    row('  without their effect, as the model reads', count(functions.undone)),
    row('  that may have been done, as the model reads', count(functions.uncertain)),
    row('  lost', count(functions.missing)),
    row('  two calls of one id at the same time', count(functions.overlapping)),
    row('  ids that changed their arguments', count(functions.changed)),
    row('  threads out of order', count(functions.threadsOutOfOrder)),
    row('  calls repeated under their id', count(functions.repeated)),
    '',
    'Model',
    row('  calls', count(model.calls)),
    row('  turns stored', count(model.stored)),
    row('  failures stored', count(model.failed)),
    row('  calls repeated', count(model.repeated), share(model.repeated, model.calls)),
    row('  of them without a kill that lost them', count(model.unexplained)),
    row('  the whole run', seconds(run.seconds * 1_000)),
    '',
    ...(verdict.length === 0
      ? ['Every conversation ended with its last text sent once; nothing was lost, doubled or out of order.']
      : verdict),
  ].join('\n')
}

export function sendRateTable(run: SendRateRun): string {
  const { reconciliation, waiting, busiestSecond, pairsTooFast, refused, rate, passed } = run
  return [
    '',
    'One number, four dispatchers',
    ...reconciliationRows(reconciliation),
    row('  waiting when all were in', count(waiting)),
    row('  most in any second', count(busiestSecond)),
    row('  sends to a person too soon', count(pairsTooFast)),
    row('  refused for the rate (130429)', count(refused['130429'] ?? 0)),
    row('  refused for the pair (131056)', count(refused['131056'] ?? 0)),
    row('  sends a second from then on', rate.toFixed(1)),
    row(`  of the number's ${PER_SECOND} a second`, `${((rate / PER_SECOND) * 100).toFixed(1)}%`),
    '',
    passed ? "The number's rate was not exceeded, and used." : "The number's rate was exceeded, or not used.",
  ].join('\n')
}

export function replayTable(run: ReplayRun): string {
  const { dead, reason, rounds, reconciliation, states, passed } = run
  return [
    '',
    'Replay',
    row('  dead', count(dead)),
    `    ${reason}`,
    row('  run again by a filter', ...rounds.map(count)),
    ...reconciliationRows(reconciliation),
    ...stateRows(states),
    row('  until all were delivered', seconds(run.seconds * 1_000)),
    '',
    passed ? 'All were delivered, once each.' : 'Not all were delivered once.',
  ].join('\n')
}

function reconciliationRows(reconciliation: Reconciliation): string[] {
  return [
    row('  posted', count(reconciliation.posted)),
    row('  answered 200', count(reconciliation.accepted)),
    row('  arrived once', count(reconciliation.once)),
    row('  lost', count(reconciliation.missing)),
    row('  doubled', count(reconciliation.doubled)),
    row('  threads out of order', count(reconciliation.threadsOutOfOrder)),
  ]
}

const stateRows = (states: Record<string, number>): string[] =>
  Object.entries(states).map(([state, number]) => row(`  in the store: ${state}`, count(number)))

const row = (label: string, ...figures: string[]): string =>
  label.padEnd(LABEL) + figures.map((figure) => figure.padStart(FIGURE)).join('  ')
const count = (value: number): string => value.toLocaleString('en-US')
const share = (part: number, all: number): string => `${((part / Math.max(all, 1)) * 100).toFixed(2)}%`
const seconds = (milliseconds: number | undefined): string =>
  milliseconds === undefined ? '–' : `${(milliseconds / 1_000).toFixed(1)} s`
