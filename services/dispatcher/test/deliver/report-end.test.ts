import { expect, test } from '@jest/globals'
import { reportEnd } from '../../src/deliver/settle-attempt.ts'
import type { MessageRecord, Progress } from '../../src/message/message-record.ts'
import { noTraffic } from '../no-traffic.ts'

const record = {
  ...{ _id: '0192', workspace: 1, channel: 'line', partition: 3, requestId: 'r' },
  receivedAt: new Date(1_000),
  timeline: [],
} as unknown as MessageRecord

function linesOf(progress: Partial<Progress>): [level: string, line: object][] {
  const lines: [string, object][] = []
  const put = (level: string) => (line: object) => void lines.push([level, line])
  const log = { info: put('info'), warn: put('warn') } as never
  const metrics = { settled: () => undefined, sent: () => undefined, delivered: () => undefined }
  const full = { timeline: [], sends: [], attempts: [], ...progress } as unknown as Progress
  reportEnd({ log, metrics, traffic: noTraffic, now: () => 1_250 }, record, full)
  return lines
}

test('a message that is dead is one warning that says why, and all others are for information', () => {
  const dead = { state: 'dead', reason: 'The provider refused it.', fault: 'caller' } as const
  expect(linesOf(dead)).toEqual([
    ['warn', expect.objectContaining({ messageId: '0192', channel: 'line', ...dead, ms: 250 })],
  ])
  for (const state of ['sent', 'done', 'failed'] as const)
    expect(linesOf({ state }).map(([level]) => level)).toEqual(['info'])
})
