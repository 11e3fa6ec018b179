import { seconds } from '../faults/report.ts'
import type { Drill } from './drill.ts'

/** A drill's result as a table. */
export function drillTable({ phases, rpcRepeats, worstDifference, difference, ms, passed }: Drill): string {
  const rows = phases.map(({ phase, accepted, arrived, doubled, written, found }) => [
    phase,
    accepted,
    accepted - arrived,
    doubled,
    written === 0 ? '–' : `${written - found} of ${written}`,
  ])
  return [
    '| posted or written | accepted | lost | sent again over WhatsApp | configuration lost |',
    '| --- | --- | --- | --- | --- |',
    ...rows.map((cells) => `| ${cells.join(' | ')} |`),
    '',
    `RPC calls that came again under their id: ${rpcRepeats}. Messages that the restored store did not know: ${worstDifference};`,
    `after that ${difference ?? 'unknown'}. No writes during the backup: ${seconds(ms.locked)} s. From the beginning of the restore:`,
    `MongoDB restored ${seconds(ms.restored)} s, all services ready ${seconds(ms.ready)} s, reconciled ${seconds(ms.reconciled)} s.`,
    passed
      ? 'PASSED: no accepted message is lost.'
      : 'FAILED: accepted messages are lost, or it was not reconciled.',
  ].join('\n')
}
